"""What ends an idle interval: known from joining the tasks where they stand in order, searched for else; both say the same."""

from __future__ import annotations

from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from profiler.analysis import gaps
from profiler.analysis.context import Context
from profiler.analysis.views import gap_classes
from tests.made import Made

task = st.tuples(st.integers(0, 2), st.sampled_from(("kernel", "copy", "record")), st.integers(0, 90), st.integers(0, 12))


def test_the_task_that_ends_each_interval_and_how_late_it_was() -> None:
    """Two kernels with 30 between them, launched 10 before the first ends and 20 after; nothing ends the last interval."""
    made = Made()
    made.api("launch", 90, 95, correlation=1)
    made.task("kernel", 100, 200, correlation=1)
    made.api("launch", 220, 225, correlation=2)
    made.task("kernel", 230, 300, correlation=2)
    context = Context(made.trace())
    idle = gaps.idle(context.trace, context.launches, 0, (80_000, 400_000))
    assert (idle.starts.tolist(), idle.ends.tolist()) == ([80_000, 200_000, 300_000], [100_000, 230_000, 400_000])
    assert idle.next.tolist() == [0, 1, -1]
    assert idle.late.tolist() == [10_000, 20_000, 100_000]


@given(st.lists(task, max_size=12), st.integers(0, 40), st.integers(0, 70))
def test_joined_or_searched(tasks: list[tuple[int, str, int, int]], begin: int, length: int) -> None:
    made = Made()
    for number, (stream, kind, start, took) in enumerate(sorted(tasks, key=lambda row: row[2])):
        made.api("launch", max(0, start - 9), max(1, start - 8), correlation=number)
        made.task(kind, start, start + took, stream=stream, correlation=number)
    context = Context(made.trace())
    window = (begin * 1000, (begin + length) * 1000)
    joined = gaps.idle(context.trace, context.launches, 0, window)
    with patch.object(gaps, "_of_tasks", return_value=None):
        searched = gaps.idle(context.trace, context.launches, 0, window)
    assert [c.tolist() for c in joined] == [c.tolist() for c in searched]
    if not tasks:
        return
    known = context.launches, joined, 0, context.views.floors[0]
    reasons = gap_classes.gap_classes(context.trace, *known)
    with patch.object(gap_classes, "_next", lambda trace, launches, idle: gap_classes._searched(trace, launches, 0, idle.ends)):
        assert gap_classes.gap_classes(context.trace, *known).spent == reasons.spent
