"""Edits of the host's time, each worked out with a pencil. Times in us."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from profiler import intervals
from profiler.analysis.context import Context
from profiler.analysis.edits import Aside, CallTime, Edit, OwnTime, Rewire
from profiler.trace import Array
from tests.made import Made


def rows(*numbers: int) -> Array:
    return np.array(numbers, np.int64)


def ns(*us: float) -> Array:
    return np.array([round(1000 * u) for u in us], np.int64)


def gain_us(made: Made, *edits: Edit) -> float:
    return Context(made.trace()).gain(edits) / 1000


def three_turns() -> Made:
    """Own code 50, a call of 10 that launches a kernel of 30 when it ends, the wait: 90 a turn."""
    made = Made()
    for turn in range(3):
        start = 90 * turn + 50
        made.api("launch", start, start + 10, level="node", correlation=turn)
        made.task("kernel", start + 10, start + 40, correlation=turn)
        made.api("aclrtSynchronizeStream", start + 10, start + 40, stream=1, blocking=1)
    return made


def test_own_time_shrinks_and_never_grows() -> None:
    """The first launch has no call before it: only the 50 before the other two can go."""
    assert gain_us(three_turns(), OwnTime(rows(0, 2, 4), ns(20, 20, 20))) == 60
    assert gain_us(three_turns(), OwnTime(rows(2, 4), ns(200, 50))) == 0


def test_the_time_of_calls() -> None:
    """A launch's lead to its kernel is its own, so shorter calls let the next one come sooner only where nothing waits."""
    made = Made()
    for number in range(3):
        made.api("query", 20 * number, 20 * number + 15)
    assert gain_us_of_calls(made, CallTime(rows(0, 1), ns(5, 40))) == 10


def gain_us_of_calls(made: Made, *edits: Edit) -> float:
    """Gain in the end of the last call: a trace without device work has no window."""
    context = Context(made.trace())
    return float(context.graph.time.max() - context.replay.times(edits).max()) / 1000


def test_what_happens_inside_a_call_shrinks_in_proportion() -> None:
    """40 with an inner call from 10 to 30 become 10: the inner one then lies from 2.5 to 7.5."""
    made = Made()
    made.api("outer", 0, 40)
    made.api("inner", 10, 30)
    context = Context(made.trace())
    times = context.replay.times([CallTime(rows(0), ns(10))])
    chains = context.graph.chains
    assert [int(times[n]) for n in (chains.call_start[1], chains.call_end[1], chains.call_end[0])] == [2_500, 7_500, 10_000]


def test_work_aside_overlaps_with_the_turn_before() -> None:
    """Own code of 50 against 40 of the rest: turns of 50 instead of 90. The first of the given calls keeps its own code."""
    whole = Aside(rows(0, 2, 4), ns(0, 50, 50), rows(0, 1, 2))
    assert gain_us(three_turns(), whole) == 2 * 40
    assert gain_us(three_turns(), Aside(rows(2, 4), ns(50, 50), rows(1, 2))) == 40
    assert (
        gain_us(three_turns(), Aside(rows(0, 2, 4), ns(0, 30, 30), rows(0, 1, 2))) == 60
    )  # 30 hide behind the rest of the turn wholly


def test_what_belongs_together_is_one_item() -> None:
    """Own code before two calls of each turn, 20 and 30: 50 a turn against 60 of the rest are hidden wholly."""
    made = Made()
    for turn in range(3):
        start = 110 * turn
        made.api("prepare", start + 20, start + 30)
        made.api("launch", start + 60, start + 70, level="node", correlation=turn)
        made.task("kernel", start + 70, start + 110, correlation=turn)
        made.api("aclrtSynchronizeStream", start + 70, start + 110, stream=1, blocking=1)
    edit = Aside(rows(0, 1, 3, 4, 6, 7), ns(0, 30, 20, 30, 20, 30), rows(0, 0, 1, 1, 2, 2))
    assert gain_us(made, edit) == 100


def test_a_wait_that_waits_for_something_earlier_or_for_nothing() -> None:
    """On stream 2 kernels of 20 and 80, then the record at 100; stream 1 waits for it and computes 10."""
    made = Made()
    for number, (start, end) in enumerate(((0, 20), (20, 100))):
        made.task("kernel", start, end, stream=2, correlation=number)
    made.task("record", 100, 100, stream=2, event=0)
    made.task("wait", 0, 100, event=0)
    made.task("kernel", 100, 110, correlation=3)
    context = Context(made.trace())
    last = context.graph.chains.task[4]
    assert int(context.replay.times([Rewire(rows(3), rows(0))])[last]) == 30_000
    assert int(context.replay.times([Rewire(rows(3), rows(-1))])[last]) == 10_000


spans = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 20)), max_size=8)


@settings(max_examples=100, deadline=None)
@given(spans, spans)
def test_how_much_of_a_set_lies_in_each_span(left: list[tuple[int, int]], right: list[tuple[int, int]]) -> None:
    """As counted moment by moment."""
    made = (
        intervals.union(*(np.array(c, np.int64) for c in zip(*((s, s + n) for s, n in left), strict=True)))
        if left
        else (rows(), rows())
    )
    starts, ends = np.array([s for s, _ in right], np.int64), np.array([s + n for s, n in right], np.int64)
    covered = {t for s, n in left for t in range(s, s + n)}
    assert intervals.inside(made, starts, ends).tolist() == [len(covered & set(range(s, s + n))) for s, n in right]
