"""Files made of profiles: times exact, clocks aligned, ids renumbered, ranges cut, tables for SQL."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import profiler
from npu.units import parse_duration
from profiler.convert import sql, tables
from profiler.convert.align import Shift, shifts
from profiler.convert.cut import within
from profiler.convert.timeline import Timeline, load
from profiler.convert.write import Placed, number_pids, usable, write
from profiler.trace import Unreadable
from tests.made import Made

Event = dict[str, Any]


def put(path: Path, events: list[Event], **beside: Any) -> Path:
    path.write_text(json.dumps({"traceEvents": events, **beside}))
    return path


def slice_(name: str, ts: Any, dur: Any = 10, pid: Any = 100, tid: Any = 1, **more: Any) -> Event:
    return {"ph": "X", "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, **more}


def mark(ts: float, name: str = "sync") -> Event:
    return {"ph": "i", "s": "g", "name": name, "pid": 100, "tid": 1, "ts": ts}


def merged(out: Path, timelines: list[Timeline], found: list[Shift]) -> list[Event]:
    placed = [Placed(t, usable(t.raw), s.ns) for t, s in zip(timelines, found, strict=True)]
    number_pids(placed)
    write(out, placed)
    made: list[Event] = json.loads(out.read_text())["traceEvents"]
    return made


def two(tmp_path: Path, a: list[Event], b: list[Event], *beside: dict[str, Any]) -> list[Timeline]:
    of_a, of_b = beside or ({}, {})
    return [*load(put(tmp_path / "a.json", a, **of_a)), *load(put(tmp_path / "b.json", b, **of_b))]


def test_a_common_mark_is_laid_on_itself(tmp_path: Path) -> None:
    both = two(tmp_path, [slice_("step", 5000), mark(5002.5)], [slice_("step", 9_000_000), mark(9_000_001)])
    found = shifts(both)
    assert found[1] == Shift(-8_994_998_500, "marker", "sync", 1, 0, None)
    made = merged(tmp_path / "m.json", both, found)
    assert [e["ts"] for e in made if e["ph"] == "i"] == [2.5, 2.5]
    assert {e["pid"] for e in made if e["ph"] == "X"} == {100, 1}  # both were 100
    assert next(e for e in made if e.get("name") == "process_labels")["args"] == {"labels": "b.json"}


def test_several_marks_give_median_spread_and_drift(tmp_path: Path) -> None:
    a = [slice_("x", 0), *(mark(1_000_000 * n) for n in range(5))]
    b = [slice_("x", 0), *(mark(500 + 1_000_010 * n) for n in range(5))]  # 10 us slower every second
    found = shifts(two(tmp_path, a, b))[1]
    assert (found.ns, found.pairs, found.spread) == (-520_000, 5, 20_000)
    assert found.drift == pytest.approx(-10, rel=1e-3)


def test_other_ways_to_align(tmp_path: Path) -> None:
    def clock(us: int) -> dict[str, Any]:
        return {"metadata": {"unix_minus_clock_us": us}}

    far = [slice_("x", 9_000_000_000)]
    by_clock = shifts(two(tmp_path, [slice_("x", 0)], far, clock(1_700_000_000_000_000), clock(1_699_991_000_000_000)))
    assert by_clock[1] == Shift(-9_000_000_000_000, "clock")
    reduce = [slice_("hcom_allReduce__1", 9_000_000_000, 100), slice_("hcom_allReduce__1", 9_000_001_000, 50)]
    own = [slice_("hcom_allReduce__1", 10, 40), slice_("hcom_allReduce__1", 1000, 50)]
    by_collective = shifts(two(tmp_path, own, reduce))[1]
    # ends: 50 and 1050 here, 100 and 1050 later than 9e9 there; the distances are -50 and 0, the later is the median of two
    assert (by_collective.by, by_collective.ns, by_collective.spread) == ("collective", -9_000_000_000_000, 50_000)
    assert shifts(two(tmp_path, [slice_("x", 0)], far))[1] == Shift(-9_000_000_000_000, "start")
    assert shifts(two(tmp_path, [slice_("x", 5)], [slice_("y", 7)]))[1] == Shift(0, "same")
    assert shifts(two(tmp_path, [slice_("x", 5)], far), given=[-7])[1] == Shift(-7, "given")
    assert shifts(two(tmp_path, [slice_("x", 5)], [slice_("x", 1005)]), marker="x")[1].ns == -1_000_000
    with pytest.raises(Unreadable, match=r"b\.json has no event named 'z'"):
        shifts(two(tmp_path, [slice_("z", 5)], far), marker="z")


def test_converted_times_are_exact_and_ids_small(tmp_path: Path) -> None:
    zero = 1_778_640_000_123_456
    end = {"name": "l", "cat": "HostToDevice", "id": str((1 << 64) + 5), "pid": "host", "tid": "main", "ts": f"{zero}.001"}
    ends = [{"ph": p, **end} for p in "sf"]
    path = tmp_path / "a.json"
    path.write_text(json.dumps([*(slice_(f"k{n}", f"{zero}.{n:03d}", 0.001) for n in range(3)), *ends, slice_("bad", 0, 0)]))
    made = merged(tmp_path / "safe.json", load(path), [Shift(0, "first")])
    assert [e["ts"] for e in made if e["ph"] == "X"] == [0, 0.001, 0.002]  # and `bad` is left out
    assert {e["id"] for e in made if e["ph"] in "sf"} == {1} and {e["pid"] for e in made if e["ph"] == "s"} == {1}
    again = profiler.open(tmp_path / "safe.json")
    assert again.meta["unix_zero_ns"] == zero * 1000
    assert (again.marker["end"] - again.marker["start"]).tolist() == [1, 1, 1]


@given(st.lists(st.tuples(st.integers(0, 10**12), st.integers(0, 10**9)), min_size=1, max_size=30))
def test_no_nanosecond_is_lost(tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[int, int]]) -> None:
    folder = tmp_path_factory.mktemp("exact")
    events = [slice_("k", f"{s // 1000}.{s % 1000:03d}", f"{d // 1000}.{d % 1000:03d}", tid=n) for n, (s, d) in enumerate(rows)]
    rows = [(s, d) for s, d in rows if (s, d) != (0, 0) or not any(s for s, _ in rows)]
    made = merged(folder / "out.json", load(put(folder / "in.json", events)), [Shift(0, "first")])
    first = min(s for s, _ in rows)
    assert [(round(e["ts"] * 1000) + first, round(e["dur"] * 1000)) for e in made] == rows


def test_a_cut_keeps_what_reaches_in_and_both_ends_of_arrows(tmp_path: Path) -> None:
    events = [
        slice_("before", 0, 10), slice_("into", 90, 20), slice_("inside", 120, 5), slice_("after", 200, 5),
        {"ph": "B", "name": "range", "pid": 100, "tid": 2, "ts": 50}, {"ph": "E", "pid": 100, "tid": 2, "ts": 150},
        {"ph": "s", "name": "l", "cat": "c", "id": 1, "pid": 100, "tid": 1, "ts": 5},
        {"ph": "f", "name": "l", "cat": "c", "id": 1, "pid": 100, "tid": 1, "ts": 121},
        {"ph": "C", "name": "HBM", "pid": 100, "ts": 10, "args": {"v": 1}},
    ]  # fmt: skip
    (timeline,) = load(put(tmp_path / "a.json", events))
    kept = within(timeline.raw, 100_000, 160_000)
    assert np.flatnonzero(kept).tolist() == [1, 2, 4, 5, 6, 7]


def test_sql_over_a_trace() -> None:
    made = Made()
    made.task("kernel", 0, 10, name="MatMul_1", op_type="MatMul", aic_mac_ratio=0.5)
    made.task("kernel", 20, 25, name="Add_1", op_type="Add", aic_mac_ratio=float("nan"))
    made.api("aclrtSynchronizeStream", 0, 30)
    trace = made.trace()
    answer = sql.ask(
        [trace], "select op_type, kind, sum(duration_ns), max(aic_mac_ratio) from task group by 1, 2 order by 3 desc"
    )
    assert answer.rows == [("MatMul", "kernel", 10_000, 0.5), ("Add", "kernel", 5_000, None)]
    assert sql.ask([trace, trace], "select count(*), max(profile) from api").rows == [(2, 1)]
    assert sql.ask([trace], "select rank, soc from profile").rows == [(None, "Ascend910B3")]
    with pytest.raises(Unreadable, match="no such column: length"):
        sql.ask([trace], "select length from task")
    with pytest.raises(Unreadable, match="readonly"):
        sql.ask([trace], "delete from task")


@pytest.mark.parametrize(("name", "expected"), [
    ("start", "start_ns"), ("group", "group_name"), ("aicore_time(us)", "aicore_time_us"),
    ("cube_utilization(%)", "cube_utilization_percent"), ("ub_read_bw(GB/s)", "ub_read_bw_gb_s"), ("bytes", "bytes"),
])  # fmt: skip
def test_names_for_sql(name: str, expected: str) -> None:
    assert tables.sql_name(name) == expected


@pytest.mark.parametrize(("text", "ns"), [
    ("1.5s", 1_500_000_000), ("-3.5us", -3500), ("12 ms", 12_000_000), ("98760432.1ms", 98_760_432_100_000),
    ("2h", 7_200_000_000_000),
])  # fmt: skip
def test_times_on_the_command_line(text: str, ns: int) -> None:
    assert parse_duration(text) == ns


def test_a_time_without_a_unit_is_refused() -> None:
    with pytest.raises(ValueError, match="not a time: '12'"):
        parse_duration("12")


def test_parquet_holds_the_same_rows(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    from profiler.convert import arrow

    made = Made()
    made.task("kernel", 0, 10, name="MatMul_1", op_type="MatMul", stream=-1)
    assert arrow.write([made.trace()], "task", tmp_path / "t.parquet") == 1
    (row,) = parquet.read_table(tmp_path / "t.parquet").to_pylist()
    assert (row["name"], row["kind"], row["duration_ns"], row["stream"], row["profile"]) == (
        "MatMul_1",
        "kernel",
        10_000,
        None,
        0,
    )
