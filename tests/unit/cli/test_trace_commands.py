"""msprof check, merge, cut, convert, query: parsed, one call, printed; exit codes; two lines for mistakes."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from cli.commands.convert import convert
from cli.commands.cut import cut
from cli.commands.merge import merge
from cli.commands.query import query
from cli.commands.trace_check import check
from cli.common import CliError
from cli.terminal import Language
from profiler.trace import Unreadable

SETS = {"Task Type": "AI_CORE"}


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Ten kernels of 5 us on one stream of a device, one every 10 us."""
    names = [{"ph": "M", "name": "process_name", "pid": 3, "tid": 0, "args": {"name": "Ascend Hardware"}}]
    kernels = [{"ph": "X", "name": f"k{n}", "pid": 3, "tid": 2, "ts": 100 + 10 * n, "dur": 5, "args": SETS} for n in range(10)]
    path = tmp_path / "trace.json"
    path.write_text(json.dumps([*names, *kernels]))
    return path


def test_check_says_what_is_there_and_what_is_wrong(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(trace) == 0
    assert "10 usable slices among 11 events" in capsys.readouterr().out
    trace.write_text(trace.read_text()[:-40])
    assert check(trace, lang=Language.zh) == 1
    assert "文件被截断" in capsys.readouterr().out
    assert check(trace, json=True) == 1
    made = json.loads(capsys.readouterr().out)
    assert (made["tool"], made["findings"][0]["id"]) == ("npuscope check", "truncated")
    with pytest.raises(FileNotFoundError):
        check(trace.with_name("none.json"))


def test_merge_says_what_it_did(trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "m.json"
    assert merge([trace, trace], out, offset=["1ms"]) == 0
    said = capsys.readouterr().out
    assert "shifted by +1000.000 us (--offset)" in said and "pid 3 is 1 now" in said and f"written: {out}" in said
    times = sorted(e["ts"] for e in json.loads(out.read_text())["traceEvents"] if e["ph"] == "X")
    assert times[0] == 0 and times[-1] == 1090
    with pytest.raises(CliError, match="exists already"):
        merge([trace, trace], out)


def test_merge_goes_on_without_an_empty_file_and_says_what_was_lost(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cut_short, empty, day_later = (tmp_path / f"{n}.json" for n in ("cut", "empty", "later"))
    cut_short.write_text(trace.read_text()[:-40])
    empty.write_text("")
    day_later.write_text(json.dumps([{"ph": "X", "name": "k", "pid": 9, "tid": 1, "ts": 86_400_000_000, "dur": 5}]))
    assert merge([trace, cut_short, empty], tmp_path / "m.json") == 0
    said = capsys.readouterr()
    assert "empty.json is empty (0 bytes): left out" in said.err and "cut.json: the end of cut.json: the file is truncated" in said.out
    with pytest.raises(Unreadable, match="is empty"):
        merge([trace, empty], tmp_path / "n.json")
    assert merge([trace, day_later], tmp_path / "o.json", offset=["1ms"]) == 0
    assert "86400 s apart" in capsys.readouterr().err
    assert merge([trace, trace], tmp_path / "p.json", offset=["1ms"]) == 0
    said = capsys.readouterr()
    assert "is named twice" in said.err and "apart" not in said.err


@pytest.mark.parametrize(("given", "match"), [
    ({"offset": ["1"]}, "not a time"), ({"offset": ["1ms", "2ms"]}, "2 --offset for 1"),
    ({"offset": ["1ms"], "marker": "x"}, "exclude"),
])  # fmt: skip
def test_merge_refuses(trace: Path, tmp_path: Path, given: dict[str, object], match: str) -> None:
    with pytest.raises(CliError, match=match):
        merge([trace, trace], tmp_path / "m.json", **given)  # type: ignore[arg-type]
    with pytest.raises(CliError, match="one trace only"):
        merge([trace], tmp_path / "m.json")


def test_cut(trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "c.json"
    assert cut(trace, "20us", "42us", out) == 0
    assert "3 of 10 events" in capsys.readouterr().out
    assert [e["name"] for e in json.loads(out.read_text())["traceEvents"]] == ["process_name", "k2", "k3", "k4"]
    for begin, end, match in (("5us", "2us", "not after"), ("5", "9us", "not a time"), ("1s", "2s", "nothing lies between")):
        with pytest.raises(CliError, match=match):
            cut(trace, begin, end, tmp_path / "d.json")


def test_convert_by_suffix(trace: Path, tmp_path: Path) -> None:
    for name in ("t.json", "t.json.gz", "t.csv", "t.db"):
        assert convert(trace, tmp_path / name) == 0
    assert (tmp_path / "t.csv").read_text().splitlines()[1].startswith("0,100000,105000,5000,k0")
    assert (tmp_path / "t.json.gz").read_bytes().startswith(b"\x1f\x8b") and check(tmp_path / "t.json.gz") == 0
    with sqlite3.connect(tmp_path / "t.db") as database:
        assert database.execute("select count(*), min(endNs - startNs) from TASK").fetchone() == (10, 5000)
    with pytest.raises(CliError, match=r"no form is known for t\.xls"):
        convert(trace, tmp_path / "t.xls")
    with pytest.raises(CliError, match="no rows for table 'comm'"):
        convert(trace, tmp_path / "u.csv", table="comm")


def test_query_forms(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    statement = "select name, duration_ns from task where start_ns < 120000 order by 1"
    query(trace, statement)
    assert capsys.readouterr().out.splitlines() == ["name  duration_ns", "k0           5000", "k1           5000"]
    query(trace, statement, json=True)
    assert json.loads(capsys.readouterr().out)[1] == {"name": "k1", "duration_ns": 5000}
    query(trace, statement, csv=True)
    assert capsys.readouterr().out == "name,duration_ns\nk0,5000\nk1,5000\n"
    query(trace)
    assert "task: profile, start_ns, end_ns, duration_ns, name" in capsys.readouterr().out
    with pytest.raises(CliError, match="exclude"):
        query(trace, statement, json=True, csv=True)
