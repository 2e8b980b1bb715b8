"""View V5: every moment of idle time has one reason. Times in us."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from profiler.analysis.context import Context
from profiler.analysis.views.gap_classes import GapClasses
from profiler.intervals import length
from tests.made import Made


def gaps(made: Made) -> GapClasses:
    return Context(made.trace()).views.gaps[0]


def reasons(made: Made) -> dict[str, float]:
    return {name: ns / 1000 for name, ns in gaps(made).by_class().items()}


def two(launch: float, gap_end: float = 200) -> Made:
    """A kernel until 100, another from gap_end on whose launch begins at `launch`."""
    made = Made()
    made.api("launch", 0, 5, correlation=1)
    made.task("kernel", 2, 100, correlation=1)
    made.api("launch", launch, launch + 5, correlation=2)
    made.task("kernel", gap_end, gap_end + 50, correlation=2)
    return made


def test_what_the_host_did_by_priority() -> None:
    """100 to 190 the host is late: 20 compiling (10 of them also in a sync), 15 allocating, 30 in an operator of the framework,
    the rest is user code; from 190 on the device is: 2 dispatch, 8 unexplained."""
    made = two(launch=190)
    made.api("aclopCompileAndExecute", 100, 120)
    made.api("aclrtSynchronizeStream", 110, 125)
    made.api("aclrtMalloc", 125, 140)
    made.marker("cpu_op", "aten::mul", 135, 170)
    assert reasons(made) == {"framework": 30, "compile": 20, "user": 20, "alloc": 15, "unexplained": 8, "sync": 5, "dispatch": 2}
    assert gaps(made).host == 90_000


def test_only_the_launching_thread_counts() -> None:
    made = two(launch=190)
    made.api("aclrtMalloc", 100, 190, thread=7)
    assert reasons(made) == {"user": 90, "unexplained": 8, "dispatch": 2}


def test_the_thread_that_feeds_the_launching_one_counts_as_well() -> None:
    made = two(launch=190)
    made.marker("enqueue", "Enqueue", 180, 181, thread=7)
    made.marker("dequeue", "Dequeue@aclnnMul", 189, 190, thread=0)
    made.marker("cpu_op", "aten::mul", 110, 180, thread=7)
    assert reasons(made) == {"framework": 70, "user": 20, "unexplained": 8, "dispatch": 2}


def test_a_launch_before_the_gap_leaves_it_to_the_device() -> None:
    assert reasons(two(launch=50)) == {"unexplained": 98, "dispatch": 2}


def test_an_event_the_stream_waits_for() -> None:
    made = two(launch=50)
    made.task("wait", 100, 180, event=3)
    assert reasons(made) == {"event": 80, "unexplained": 18, "dispatch": 2}


def test_without_a_recorded_launch_nobody_is_blamed() -> None:
    made = Made()
    made.task("kernel", 0, 100)
    made.task("kernel", 150, 200)
    assert reasons(made) == {"unlinked": 50}


def test_a_collective_ends_a_gap_too() -> None:
    made = Made()
    made.api("launch", 0, 5, correlation=1)
    made.task("kernel", 2, 100, correlation=1)
    made.api("hcom_allReduce_", 140, 150, correlation=2)
    made.comm("op", "hcom_allReduce_", 160, 300, correlation=2)
    made.task("kernel", 300, 310, correlation=3)
    assert reasons(made) == {"user": 40, "unexplained": 18, "dispatch": 2}


def test_collection_takes_its_floor_first() -> None:
    """30 queued kernels 88 apart make a floor of 88; the next gap of 500 is 88 collection and 412 host."""
    made = Made()
    at = 0.0
    for number in range(30):
        made.api("launch", at - 300, at - 295, correlation=number)
        made.task("kernel", at, at + 50, correlation=number)
        at += 138
    late = at - 88 + 500
    made.api("launch", late, late + 5, correlation=99)
    made.task("kernel", late, late + 50, correlation=99)
    assert reasons(made) == {"collection": 29 * 88 + 88, "user": 412}


def test_the_end_of_the_window() -> None:
    """The first kernel begins 2 after its launch, the second had long been launched, nothing follows the last for 50."""
    made = two(launch=50)
    made.marker("step", "ProfilerStep#0", 0, 300)
    assert reasons(made) == {"unexplained": 98, "end": 50, "dispatch": 4}


spans = st.lists(st.tuples(st.integers(0, 300), st.integers(1, 60)), max_size=12)


@given(spans, spans, spans)
def test_reasons_sum_to_the_idle_time(
    kernels: list[tuple[int, int]], calls: list[tuple[int, int]], ops: list[tuple[int, int]]
) -> None:
    made = Made()
    made.task("kernel", 0, 1)
    for number, (start, wide) in enumerate(kernels):
        made.api("launch", max(0, start - wide), max(0, start - wide) + 3, correlation=number, thread=number % 2)
        made.task("kernel", start, start + wide, correlation=number, stream=number % 3)
    for start, wide in calls:
        made.api(("aclrtMalloc", "aclopCompile", "aclrtMemcpy", "aclnnMul")[wide % 4], start, start + wide, thread=wide % 2)
    for start, wide in ops:
        made.marker("cpu_op", "aten::mul", start, start + wide)
    context = Context(made.trace())
    found = context.views.gaps[0]
    assert all(spent > 0 for spent in found.spent.values())
    assert found.total() == sum(found.spent.values()) == length((context.idle[0].starts, context.idle[0].ends))
