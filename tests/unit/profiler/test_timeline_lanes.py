"""Trace -> lanes: what sits in which lane, and how deep."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from profiler.report.lanes import DEEPEST, curves_of, depths, lanes_of
from tests.made import Made, ns


def test_a_call_inside_a_call_sits_one_row_lower() -> None:
    # outer 0..100 holds a 10..40 (with b 20..30 inside) and c 50..60; d follows outer at once.
    start, end = np.array([0, 10, 20, 50, 100]), np.array([100, 40, 30, 60, 120])
    assert depths(start, end).tolist() == [0, 1, 2, 1, 0]


def test_touching_bars_share_a_row() -> None:
    assert depths(np.array([0, 10, 20]), np.array([10, 20, 30])).tolist() == [0, 0, 0]


def test_a_chain_of_overlaps_takes_two_rows_not_many() -> None:
    # Each bar overlaps only its neighbour: 0..15, 10..25, 20..35 ...
    start = np.arange(0, 1000, 10)
    assert set(depths(start, start + 15).tolist()) == {0, 1}


def test_more_overlaps_than_rows_share_the_last_row() -> None:
    start = np.arange(DEEPEST + 20)
    assert depths(start, start + 10_000).max() == DEEPEST - 1


@given(st.lists(st.tuples(st.integers(0, 200), st.integers(0, 60)), max_size=30))
def test_no_bar_overlaps_another_in_its_row(bars: list[tuple[int, int]]) -> None:
    bars.sort(key=lambda b: (b[0], -b[1]))
    start = np.array([s for s, _ in bars], np.int64)
    end = np.array([s + length for s, length in bars], np.int64)
    row = depths(start, end)
    for depth in set(row.tolist()):
        begins, ends = start[row == depth], end[row == depth]
        assert (begins[1:] >= ends[:-1]).all()


def test_lanes_come_host_first_then_streams_then_copies() -> None:
    made = Made()
    made.marker("step", "step 0", 0, 100)
    made.marker("cpu_op", "aten::add", 0, 20)
    made.api("aclrtMemcpyAsync", 0, 10)
    made.api("aclrtSynchronizeStream", 10, 90, thread=1)
    made.task("copy", 10, 20, stream=5, direction="h2d")
    made.task("kernel", 20, 60, stream=2)
    made.task("kernel", 20, 60, stream=2, device=1)
    made.comm("op", "hcom_allReduce_", 60, 80)
    made.comm("part", "Memcpy", 62, 70, plane=3)
    lanes = lanes_of(made.trace())
    assert [(lane.group, lane.title) for lane in lanes] == [
        ("Host", "Steps"), ("Host", "Thread 0: framework"), ("Host", "Thread 0: calls"), ("Host", "Thread 1"),
        ("Device 0", "Stream 2"), ("Device 0", "Stream 5"), ("Device 0", "Copies H2D"), ("Device 0", "Collectives"),
        ("Device 0", "Transfers plane 3"), ("Device 1", "Stream 2"),
    ]
    assert [lane.title for lane in lanes if lane.repeated] == ["Copies H2D"]
    assert [lane.title for lane in lanes if lane.folded] == ["Transfers plane 3"]


def test_every_row_is_drawn_exactly_once_outside_repeated_lanes() -> None:
    made = Made()
    for n in range(50):
        made.task("copy" if n % 5 == 0 else "kernel", n * 7, n * 7 + 11, stream=n % 3, direction="d2h" if n % 5 == 0 else -1)
        made.api("aclrtMalloc", n * 3, n * 3 + 9, thread=n % 2)
    lanes = lanes_of(made.trace())
    for table in ("task", "api"):
        rows = np.concatenate([lane.rows for lane in lanes if lane.table == table and not lane.repeated])
        assert sorted(rows.tolist()) == list(range(50))


def test_memory_without_a_total_is_summed_from_allocations() -> None:
    made = Made()
    made.memory("alloc", 1, 100)
    made.memory("alloc", 2, 50)
    made.memory("free", 3, 100)
    (curve,) = curves_of(made.trace())
    assert (curve.group, curve.title, curve.unit) == ("Device 0", "Memory", "B")
    assert curve.time.tolist() == [ns(1), ns(2), ns(3)]
    assert curve.values["allocated"].tolist() == [100, 150, 50]


def test_counters_have_a_curve_each_in_order_of_time() -> None:
    made = Made()
    made.counter("power W", 5, 90.5)
    made.counter("power W", 1, 80.0)
    made.counter("temperature C", 1, 40.0, device=1)
    curves = curves_of(made.trace())
    assert [(c.group, c.title, c.values["value"].tolist()) for c in curves] == [
        ("Device 0", "power W", [80.0, 90.5]), ("Device 1", "temperature C", [40.0])]
