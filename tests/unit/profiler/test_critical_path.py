"""Which rows decide when the window ends: worked out on a trace of two branches, one of which waits."""

from __future__ import annotations

from profiler.analysis import analyze_with_path, critical_path
from profiler.analysis.context import Context
from profiler.trace import Trace
from tests.made import Made


def two_branches() -> Trace:
    """A launch starts a long kernel on stream 1, another a short one on stream 2; the host waits for both."""
    made = Made()
    made.api("aclmdlExecuteAsync", 0, 10, correlation=1, stream=1)
    made.api("aclmdlExecuteAsync", 10, 20, correlation=2, stream=2)
    made.api("aclrtSynchronizeStream", 20, 215, stream=1, blocking=1)
    made.api("aclrtSynchronizeStream", 215, 216, stream=2, blocking=1)
    made.task("kernel", 12, 212, correlation=1, stream=1, name="long", op_type="MatMulV2", task_type="AI_CORE")
    made.task("kernel", 25, 35, correlation=2, stream=2, name="short", op_type="Add", task_type="AI_VECTOR_CORE")
    return made.trace()


def test_the_long_branch_is_on_the_path_and_the_short_one_is_not() -> None:
    context = Context(two_branches())
    assert critical_path.rows(context.graph, context.replay.goals, (0, 216_000)) == [("api", 0), ("task", 0)]


def test_the_report_comes_with_the_path_of_its_window() -> None:
    report, path = analyze_with_path(two_branches())
    assert report.window[0] >= 10_000  # the launch is over before the window begins
    assert path == [("task", 0)]


def test_each_row_stands_there_once_in_order_of_time() -> None:
    trace = two_branches()
    context = Context(trace)
    path = critical_path.rows(context.graph, context.replay.goals, context.window)
    assert len(path) == len(set(path))
    ends = [int(getattr(trace, table)["end"][row]) for table, row in path if table == "task"]
    assert ends == sorted(ends)


def test_rows_outside_the_window_are_left_out() -> None:
    context = Context(two_branches())
    assert critical_path.rows(context.graph, context.replay.goals, (300_000, 400_000)) == []
