"""What the findings say of the samples, where they must stay silent, and that every one speaks both languages."""

from __future__ import annotations

import string
from pathlib import Path

import pytest

from diag.smi_findings import NAMES, SmiFinding, find
from diag.smi_text import parse
from diag.smi_words import LANGUAGES, claim, steps, texts, title

SAMPLES = Path(__file__).parents[2] / "data" / "npu-smi"


def sample(name: str) -> str:
    return (SAMPLES / name).read_bytes().decode()


def found(text: str) -> dict[str, SmiFinding]:
    return {finding.id: finding for finding in find(parse(text))}


@pytest.mark.parametrize(("name", "expected"), [
    ("info_910B3_x8_23.0.7_idle.txt", {"all_free"}),
    ("info_910A_x4_23.0.rc1.txt", {"health_warning", "hugepages_used_up", "busy_and_free"}),
    ("info_910B4_x2_24.1.rc2_busy.txt", {"busy_and_free"}),
    ("info_A3_x2_25.5.1_two_dies.txt", {"blank_names", "busy_and_free"}),
    ("info_910B2_x2_26.0.rc1_container_pids.txt", {"busy_and_free"}),
    ("info_950PR_x3_25.7.rc1_alarm.txt", {"health_alarm", "memory_of_nobody", "busy_and_free"}),
    ("info_310P3_x1_22.0.2_narrow.txt", {"hugepages_used_up", "tool_and_driver"}),
    ("info_310B4_soc_23.0.rc3_alarm.txt", {"health_alarm", "hugepages_used_up"}),
    ("info_310_soc_22.0.4.txt", set()),
    ("info_910B2_x1_25.3.rc1_driver_warning.txt", {"driver_incomplete", "all_free"}),
    ("info_310P3_x1_23.0.0_NA_power.txt", {"no_free_device"}),
    ("t_common_910B3_24.1.txt", {"throttled"}),
    ("t_health_910B3_two_codes.txt", {"fault_codes"}),
    ("t_health_910B3_ok.txt", set()),
    ("t_board_910B3_24.1.txt", set()),
    ("fail_8020_then_9005.txt", {"device_used"}),
    ("fail_command_not_found.txt", {"tool_absent"}),
    ("unsupported_type.txt", {"unsupported"}),
])  # fmt: skip
def test_samples(name: str, expected: set[str]) -> None:
    assert found(sample(name)).keys() == expected


def test_facts_of_the_samples() -> None:
    throttled = found(sample("t_common_910B3_24.1.txt"))["throttled"]
    assert (throttled.facts["now"], throttled.facts["rated"], throttled.devices) == (1650, 1800, ((1, 0),))
    assert "1,650 MHz of 1,800 MHz, 8.3 % less" in claim(throttled)
    codes = found(sample("t_health_910B3_two_codes.txt"))["fault_codes"]
    assert codes.facts["codes"] == "0x80E18005, 0x80DF8000"
    free = found(sample("info_910A_x4_23.0.rc1.txt"))["busy_and_free"]
    assert (free.facts["busy"], free.facts["free"]) == ("NPU 2", "NPU 0, 1, 3")
    dies = found(sample("info_A3_x2_25.5.1_two_dies.txt"))["busy_and_free"]
    assert dies.facts["free"] == "NPU 1 chip 0, NPU 1 chip 1"


def test_the_gravest_comes_first() -> None:
    text = sample("info_910A_x4_23.0.rc1.txt").replace("OK            | 71.4", "Critical      | 71.4")
    assert [finding.severity for finding in find(parse(text))] == ["critical", "warning", "note", "note"]


def test_a_table_cut_short_says_so_and_frees_nobody() -> None:
    names = found(sample("info_910B3_x8_23.0.7_idle.txt")[:2000]).keys()
    assert names == {"cut_short"}


def test_memory_that_no_process_accounts_for() -> None:
    text = sample("info_910B3_x8_23.0.7_idle.txt").replace("3338 / 65536", "59999/ 65536", 1)
    lost = found(text)["memory_of_nobody"]
    assert lost.devices == ((1, 0),)
    assert found(text)["busy_and_free" if "busy_and_free" in found(text) else "all_free"].facts["free_count"] == 7


def test_dies_of_one_card() -> None:
    text = sample("info_A3_x2_25.5.1_two_dies.txt")
    idle = found(text.replace("0000:3C:00.0  | 61  ", "0000:3C:00.0  | 0   "))
    assert idle["uneven_dies"].facts["high"] == "63 %" and idle["uneven_dies"].devices == ((0, 0), (0, 1))
    assert "idle_holding" in idle
    assert "uneven_dies" not in found(sample("info_310P3_duo_x2_24.1.rc2.txt"))


def test_hot_and_full() -> None:
    text = sample("info_910B4_x2_24.1.rc2_busy.txt").replace("| 212.3       58", "| 212.3       97")
    names = found(text.replace("29871/ 32768", "32000/ 32768"))
    assert names["hot"].facts["temp"] == 97 and names["memory_full"].facts["used_share"] == 32000 / 32768


def test_eight_rows() -> None:
    row = "| 1       0                 | {pid:<13} | python                   | 150                     |\n"
    plain = sample("info_910B4_x2_24.1.rc2_busy.txt")
    text = plain.replace(next(line for line in plain.splitlines(keepends=True) if "found in NPU 1" in line),
                         "".join(row.format(pid=pid) for pid in range(8)))  # fmt: skip
    assert found(text)["table_capped"].devices == ((1, 0),)
    assert "no_free_device" in found(text)


def test_ecc_and_compatibility() -> None:
    ecc = "\tNPU ID                                   : 3\n\n\tHBM Single Bit Error Count               : 4\n"
    double = (
        ecc + "\tHBM Double Bit Aggregate Total Err Cnt   : 2\n\tHBM Double Bit Isolated Pages Count      : 1\n\tChip ID : 0\n"
    )
    assert found(double)["double_bit_errors"].facts == {"where": "NPU 3 chip 0", "count": 2, "isolated": 1}
    assert found(double.replace(": 2", ": 0")).keys() == {"isolated_pages"}
    assert found(ecc).keys() == set()
    board = sample("t_board_910B3_24.1.txt").replace(
        "Compatibility                  : OK", "Compatibility                  : NOK"
    )
    assert found(board)["incompatible"].facts["firmware"] == "7.3.0.1.231"


def test_a_session_shows_its_environment() -> None:
    session = (
        "root@c1:/# npu-smi info\n" + sample("fail_8020_container_device_used.txt") + "root@c1:/# ls /dev | grep davinci\n"
        "davinci_manager\nroot@c1:/# echo $LD_LIBRARY_PATH\n\n"
    )  # fmt: skip
    assert found(session).keys() == {"device_used", "library_path_empty", "no_device_nodes"}
    fine = session.replace("davinci_manager", "davinci0\ndavinci_manager").replace("PATH\n\n", "PATH\n/usr/lib\n")
    assert found(fine).keys() == {"device_used"}
    said = " ".join(steps(found(session)["device_used"]))
    assert said.index("set_env") < said.index("another owner") < said.index("mounts")


@pytest.mark.parametrize("lang", LANGUAGES)
def test_every_finding_has_its_texts(lang: str) -> None:
    assert texts(lang).keys() == set(NAMES)
    for name in NAMES:
        assert texts(lang)[name].keys() == {"title", "claim", "steps"}
        same = {field for _, field, _, _ in string.Formatter().parse(str(texts("en")[name]["claim"])) if field}
        assert {field for _, field, _, _ in string.Formatter().parse(str(texts(lang)[name]["claim"])) if field} == same


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("name", sorted(path.name for path in SAMPLES.glob("*.txt")))
def test_texts_are_filled(name: str, lang: str) -> None:
    for finding in find(parse(sample(name))):
        said = [title(finding, lang), claim(finding, lang), *steps(finding, lang)]
        assert all(said) and not any("{" in text or "}" in text for text in said)
