"""Texts of the device tool in the shapes pastes come in: quoted, broken, cut at every line, several in one."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from diag.smi.records import Pool
from diag.smi_text import parse

SAMPLES = Path(__file__).parents[2] / "data" / "npu-smi"
INDEX = {row["file"]: row for row in csv.DictReader((SAMPLES / "index.csv").read_text(encoding="utf-8").splitlines())}


def sample(name: str) -> str:
    return (SAMPLES / name).read_bytes().decode()


def shifted(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())


def quoted(text: str) -> str:
    return "```\n" + "".join(f"> {line}\n" for line in text.splitlines()) + "```\n"


def prompted(text: str) -> str:
    return f"root@host:~# npu-smi info\n{text}root@host:~# \n"


def stamped(text: str) -> str:
    return "".join(f"2026-03-04T05:06:07.{n:03d}Z {line}\n" for n, line in enumerate(text.splitlines()))


def logged(text: str) -> str:
    return f"[INFO] starting up | please wait\n+ npu-smi info\n{text}"


def narrow(text: str) -> str:
    """As a terminal of 80 columns breaks lines."""
    return "".join(f"{line[at : at + 80]}\n" for line in text.splitlines() for at in range(0, max(1, len(line)), 80))


def windows(text: str) -> str:
    return text.replace("\n", "\r\n")


def coloured(text: str) -> str:
    return text.replace("OK", "\x1b[32mOK\x1b[0m")


def unpadded(text: str) -> str:
    """As a page without fixed-width letters copies it: runs of blanks are one blank."""
    return "".join(" ".join(line.split()) + "\n" for line in text.splitlines())


@pytest.mark.parametrize("change", [shifted, quoted, prompted, stamped, logged, narrow, windows, coloured, unpadded])
@pytest.mark.parametrize("name", [name for name in INDEX if name.startswith("info_")])
def test_tables_survive_the_way_they_were_pasted(change: Callable[[str], str], name: str) -> None:
    text, read = parse(sample(name)), parse(change(sample(name)))
    assert read.devices == text.devices
    assert read.processes == text.processes
    assert (read.driver, read.idle_cards, read.cut) == (text.driver, text.idle_cards, "")


@pytest.mark.parametrize("change", [shifted, quoted, prompted, windows])
@pytest.mark.parametrize("name", [name for name in INDEX if not name.startswith(("info_", "fail_", "unsup"))])
def test_key_forms_survive_too(change: Callable[[str], str], name: str) -> None:
    text, read = parse(sample(name)), parse(change(sample(name)))
    assert (read.kind, read.blocks, read.mapping, read.samples, read.topology) == (
        text.kind, text.blocks, text.mapping, text.samples, text.topology)  # fmt: skip


# Without a process table in the layout, a text that ends behind a whole card looks like one of fewer cards.
WHOLE_AT_ANY_CARD = ("DDR-78", "DDR-88", "DDR-92")


@pytest.mark.parametrize("name", [name for name in INDEX if name.startswith("info_")])
def test_every_cut_of_a_table_is_named(name: str) -> None:
    lines = sample(name).splitlines(keepends=True)
    whole = parse("".join(lines))
    for end in range(1, len(lines)):
        read = parse("".join(lines[:end]))
        assert list(read.devices[: max(0, len(read.devices) - 1)]) == list(whole.devices[: max(0, len(read.devices) - 1)])
        if not read.cut:
            same = (read.devices, read.processes, read.idle_cards) == (whole.devices, whole.processes, whole.idle_cards)
            assert same or read.layout in WHOLE_AT_ANY_CARD, end
        elif end > 1:
            assert read.kind == "info"


@given(st.sampled_from(sorted(INDEX)), st.integers(0, 6000))
@example("info_310P3_duo_x2_24.1.rc2.txt", 784)  # within the bus id of a second row
def test_no_cut_in_the_middle_of_a_line_invents_a_device(name: str, end: int) -> None:
    whole, read = parse(sample(name)), parse(sample(name)[:end])
    known = {(d.card, d.chip): d for d in whole.devices}
    for device in read.devices:
        # The chip's number stands in the second row; until then the first row's facts are all there is.
        first = known.get((device.card, device.chip))
        assert first is not None and device.name in first.name
    assert {p.pid for p in read.processes} <= {p.pid for p in whole.processes}


@given(st.text(max_size=400))
def test_any_text_is_read(text: str) -> None:
    assert parse(text).devices == ()


def test_a_table_without_processes_column_is_old() -> None:
    text = parse(
        "+" + "-" * 84 + "+\n| npu-smi 1.8.21                  Version: 20.2.2.spc001 |\n"
        "+" + "-" * 22 + "+" + "-" * 15 + "+" + "-" * 45 + "+\n"
        "| NPU   Name           | Health        | Power(W)          Temp(C)                    |\n"
        "| Chip                 | Bus-Id        | AICore(%)         Memory-Usage(MB)  HBM-Usage(MB) |\n"
        "+" + "=" * 22 + "+" + "=" * 15 + "+" + "=" * 45 + "+\n"
        "| 0     910A           | OK            | 70.1              41                         |\n"
        "| 0                    | 0000:3A:00.0  | 0                 943  / 15137      3    / 32768 |\n"
        "+" + "=" * 22 + "+" + "=" * 15 + "+" + "=" * 45 + "+\n"
    )
    assert (text.layout, text.tool, text.driver, text.cut) == ("HBM-84", "1.8.21", "20.2.2.spc001", "")
    only = text.devices[0]
    assert (only.hugepages, only.states["hugepages"], only.hbm) == (None, "not_shown", Pool(3, 32768))


def test_memory_that_could_not_be_read_keeps_its_total() -> None:
    text = parse(sample("info_310_soc_22.0.4.txt").replace("5744 / 7757", "NA   / 7757"))
    assert text.devices[0].ddr == Pool(None, 7757) and text.devices[0].states["ddr"] == "not_reported"


def test_eight_rows_of_a_chip_may_be_cut_by_the_tool() -> None:
    row = "| 0       0                 | {pid:<13} | python                   | 1                       |\n"
    plain = sample("info_910B4_x2_24.1.rc2_busy.txt")
    at = plain.index("| 0       0                 | 914402")
    seven = parse(plain[:at] + "".join(row.format(pid=n) for n in range(5)) + plain[at:])
    eight = parse(plain[:at] + "".join(row.format(pid=n) for n in range(6)) + plain[at:])
    assert (len(seven.processes), len(eight.processes)) == (7, 8)
    assert not any(p.capped for p in seven.processes) and all(p.capped for p in eight.processes)


def test_a_name_with_a_bar_stays_whole() -> None:
    text = parse(sample("info_910B4_x2_24.1.rc2_busy.txt").replace("python3.10      ", "a | b |c        "))
    assert [p.name for p in text.processes] == ["VLLMWorker_TP", "a|b|c"]


def test_a_layout_of_unknown_widths_is_still_read() -> None:
    wider = sample("info_910B3_x8_23.0.7_idle.txt").replace("-|", " -|").replace("---+", "-----+").replace("===+", "=====+")
    text = parse(wider.replace("-" * 27 + "+", "-" * 31 + "+"))
    assert text.layout == "HBM" and len(text.devices) == 8 and text.devices[3].temp_c == 53


def test_the_last_whole_table_of_a_loop_counts() -> None:
    busy, idle = sample("info_910B4_x2_24.1.rc2_busy.txt"), sample("info_910B3_x8_23.0.7_idle.txt")
    assert len(parse(busy + idle).devices) == 8
    assert len(parse(idle + busy[:900]).devices) == 8


def test_a_session_of_several_commands_gives_all_of_them() -> None:
    text = parse("$ npu-smi info\n" + sample("info_910B4_x2_24.1.rc2_busy.txt")
                 + "$ npu-smi info -t health -i 0 -c 0\n" + sample("t_health_910B3_two_codes.txt"))  # fmt: skip
    assert text.kind == "info" and len(text.devices) == 2
    assert text.blocks[-1].values["Error Code"] == "80E18005 80DF8000"


@pytest.mark.parametrize(("line", "cause", "codes"), [
    ("Failed to execute npu-smi set. ret is -8255.", "command_failed", (-8255,)),
    ("dcmi module initialize failed. ret is -8008", "driver_not_usable", (-8008,)),
    ("This command cannot be executed on a container.", "not_in_container", (-8013,)),
    ("Operation not permitted, only root user on physical machine can call this api.", "not_permitted", (-8002,)),
    ("There is no NPU card on this server.", "no_card", ()),
    ("npu-smi: error while loading shared libraries: libc_sec.so: cannot open shared object file", "missing_library", ()),
    ("/bin/sh: 1: npu-smi: not found", "tool_absent", ()),
])  # fmt: skip
def test_refusals(line: str, cause: str, codes: tuple[int, ...]) -> None:
    error = parse(line).error
    assert error is not None and (error.cause, error.codes) == (cause, codes)


def test_blank_lines_lost_on_the_way() -> None:
    squeezed = "".join(line for line in sample("t_usages_310P3_duo_24.1.txt").splitlines(keepends=True) if line.strip())
    assert [(b.card, b.chip, b.values["DDR Usage Rate(%)"]) for b in parse(squeezed).blocks] == [(1, 0, "19"), (1, 1, "3")]


def test_version_and_other_texts() -> None:
    assert (parse("npu-smi version: 25.5.0\n").kind, parse("npu-smi version: 25.5.0\n").tool) == ("version", "25.5.0")
    assert parse("Health: fine\nall good | really\n").kind == ""
