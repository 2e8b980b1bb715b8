"""The native forms of msprof as scripts use them: collect, export again, query; and our report and export verbs."""

from __future__ import annotations

import csv
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.scripts.conftest import Run

COPIES = """
import acl, sys
acl.init(); acl.rt.set_device(0)
p, _ = acl.rt.malloc(1 << 20, 0); h, _ = acl.rt.malloc_host(1 << 20)
s, _ = acl.rt.create_stream()
for n in range(3):
    acl.rt.memcpy_async(p, 1 << 20, h, 1 << 20, 1, s)
acl.rt.synchronize_stream(s)
print("script says", *sys.argv[1:])
acl.rt.reset_device(0); acl.finalize()
"""


def exports(prof: Path) -> list[str]:
    """Kinds of files in the output folder, each without its stamp."""
    return sorted({p.name.rpartition("_")[0] for p in (prof / "mindstudio_profiler_output").glob("*_*.*")})


def test_collect_and_export_in_one_go(start: Run) -> None:
    ran = start("msprof", "--output=out", "--ascendcl=on", "--task-time", "on", "python", "script.py", "a b", script=COPIES)
    (prof,) = ran.profs
    place = f"out/{prof.name}"
    assert ran.code == 0 and ran.err == ""
    assert ran.out.splitlines() == [
        "[INFO] Start profiling....", "script says a b", "[INFO] Profiling finished.", f"[INFO] Start export data in {place}.",
        f"[INFO] Export all data in {place} done.", f"[INFO] Process profiling data complete. Data is saved in {place}",
    ]  # fmt: skip
    assert exports(prof) == ["api_statistic", "msprof", "task_time"]
    with closing(sqlite3.connect(next(prof.glob("msprof_*.db")))) as db:
        rows = db.execute("SELECT size, name FROM MEMCPY_INFO JOIN ENUM_MEMCPY_OPERATION ON id = memcpyOperation").fetchall()
    assert rows == [(1 << 20, "host to device")] * 3


def test_the_current_folder_is_the_default_and_the_environment_reaches_the_program(start: Run) -> None:
    script = COPIES + "import os; print(os.environ['MINE'])\n"
    ran = start("msprof", "--environment=MINE=1", "--type=db", "--application=python script.py", script=script)
    assert ran.code == 0 and "\n1\n" in ran.out
    assert exports(ran.profs[0]) == [] and list(ran.profs[0].glob("msprof_*.db"))


@pytest.mark.slow
def test_export_and_query_of_what_is_there(start: Run) -> None:
    start("msprof", "--output=out", "python", "script.py", script=COPIES)
    ran = start("msprof", "--export=on", "--output=out")
    assert ran.code == 0 and "[INFO] Export all data in " in ran.out
    assert len(list(ran.profs[0].glob("msprof_*.db"))) == 2  # the earlier export stays
    head, line = start("msprof", "--query=on", "--output", "out").out.splitlines()
    assert head.split("  ")[0] == "Job Info" and line.split()[:3] == ["N/A", "0", ran.profs[0].name]


@pytest.mark.parametrize(("words", "line"), [
    (("--instr-profiling=on", "python", "script.py"), "[ERROR] Argument --instr-profiling: on is not available on the simulated NPU:"),
    (("--export=on",), "[ERROR] Argument --output: expected one argument"),
    (("--export=on", "--output=absent"), "[ERROR] Argument --output: invalid value: absent. There is no such folder."),
    (("--dynamic=on", "python", "script.py"), "[ERROR] Argument --dynamic: on is not available on the simulated NPU: a running"),
    (("--output=out",), "usage: msprof [--option=value ...] <application> [arguments]"),
])  # fmt: skip
def test_refusals_have_the_real_lines_and_code(start: Run, words: tuple[str, ...], line: str) -> None:
    ran = start("msprof", *words, script=COPIES)
    assert ran.code == 255 and ran.out.splitlines()[0].startswith(line) and ran.profs == []


def test_a_program_that_never_calls_acl_leaves_nothing(start: Run) -> None:
    ran = start("msprof", "--output=out", "python", "-c", "pass")
    assert ran.code == 255 and "never called acl" in ran.out


def test_a_raw_folder_of_the_real_collector_is_named_with_the_missing_step(start: Run, tmp_path: Path) -> None:
    raw = tmp_path / "out" / "PROF_000001_20261202164829001_ABCDEFGHIJKLMNOP" / "device_0" / "data"
    raw.mkdir(parents=True)
    (raw / "stars_soc.data.0.slice_0").write_bytes(b"\0" * 64)
    native = start("msprof", "--export=on", "--output=out")
    assert native.code == 255 and "not exported" in native.out and "msprof analyze" in native.out
    ours = start("msprof", "export", "out")
    assert ours.code == 1 and "not exported" in ours.err and ours.out == ""


@pytest.mark.slow
def test_our_export_writes_only_what_is_asked_for(start: Run) -> None:
    start("msprof", "run", "--no-summary", "--output", "out", "script.py", script=COPIES)
    ran = start("msprof", "export", "out", "--as", "csv")
    lines = ran.out.splitlines()
    assert ran.code == 0 and [Path(line).name.rpartition("_")[0] for line in lines] == [
        "api_statistic", "task_time", "memory_record", "operator_memory"]
    table = next(ran.profs[0].glob("mindstudio_profiler_output/task_time_*.csv"))
    with open(table, newline="") as file:
        assert [r["kernel_type"] for r in csv.DictReader(file)] == ["MEMCPY_ASYNC"] * 3


@pytest.mark.parametrize(("lang", "word"), [("en", "Critical path"), ("zh", "关键路径")])
@pytest.mark.slow
def test_the_report_is_one_page_in_the_chosen_language(start: Run, lang: str, word: str) -> None:
    start("msprof", "run", "--no-summary", "--output", "out", "script.py", script=COPIES)
    ran = start("msprof", "report", "out", "-o", "a.html", "--lang", lang)
    assert ran.out == "written: a.html\n" and ran.code == 0
    page = (ran.folder / "a.html").read_text()
    assert f'<html lang="{lang}">' in page and word in page and '"form":"report"' in page and '"path":{' in page
    again = start("msprof", "report", "out", "-o", "a.html")
    assert again.code == 2 and "--force" in again.err


def test_verbs_of_ours_come_first_and_a_mistyped_one_is_named(start: Run) -> None:
    ran = start("msprof", "anlyze")
    assert ran.code == 2 and "did you mean msprof analyze" in ran.err
    assert "operator tuner" in start("msprof", "op", "x").err
