"""The replay: identity is exact on anything, and each edit does what a pencil says. Times in the examples in us."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from npu import events
from profiler.analysis.context import Context
from profiler.analysis.edits import DropCalls, Edit, Move, Overlap, Remove, Scale, SetTo, Unblock, fuse, merge
from profiler.analysis.graph import QUEUE
from profiler.trace import Array
from tests.made import Made
from tests.unit.profiler.drawn import Row, drawn

KINDS = ("kernel", "aicpu", "copy", "record", "wait")
CALLS = (
    "aclrtSynchronizeStream",
    "aclrtSynchronizeDevice",
    "aclrtMemcpy",
    "aclrtMemcpyAsync",
    "aclnnAdd",
    "aclrtSynchronizeEvent",
)


def rows(*numbers: int) -> Array:
    return np.array(numbers, np.int64)


def gain_us(made: Made, *edits: Edit) -> float:
    return Context(made.trace()).gain(edits) / 1000


call = st.tuples(st.integers(0, 1), st.sampled_from(CALLS), st.integers(0, 60), st.integers(0, 40), st.integers(-1, 8))
task = st.tuples(st.integers(0, 2), st.sampled_from(KINDS), st.integers(0, 60), st.integers(0, 40), st.integers(-1, 8))


@settings(max_examples=150, deadline=None)
@given(st.lists(call, max_size=12), st.lists(task, max_size=12))
def test_a_replay_without_edits_gives_back_every_measured_time(calls: Sequence[Row], tasks: Sequence[Row]) -> None:
    """Any rows: overlapping, nested, simultaneous, empty, with contradicting correlations."""
    context = Context(drawn(calls, tasks).trace())
    assert (context.replay.times() == context.graph.time).all()


@settings(max_examples=100, deadline=None)
@given(st.lists(call, max_size=10), st.lists(task, min_size=1, max_size=10), st.data())
def test_edits_that_take_time_away_never_make_anything_later(
    calls: Sequence[Row], tasks: Sequence[Row], data: st.DataObject
) -> None:
    context = Context(drawn(calls, tasks).trace())
    chosen = data.draw(st.lists(st.integers(0, len(tasks) - 1), unique=True))
    dropped = data.draw(st.lists(st.integers(0, len(calls) - 1), unique=True)) if calls else []
    after = context.replay.times([Remove(rows(*chosen)), DropCalls(rows(*dropped))])
    assert (after <= context.graph.time).all()


def two_turns(kernel: float = 100) -> Made:
    """Twice: launch at 0 and 110 for 5, kernel from 2 later, wait to its end, 8 of user code in between."""
    made = Made()
    for turn in range(2):
        start = turn * (kernel + 10)
        made.api("aclmdlExecuteAsync", start, start + 5, stream=1, correlation=turn, blocking=0)
        made.task("kernel", start + 2, start + 2 + kernel, correlation=turn)
        made.api("aclrtSynchronizeStream", start + 5, start + 2 + kernel, stream=1, blocking=1)
    return made


def test_drop_sync() -> None:
    """Without the wait at 102 the host launches at 13; the second kernel follows the first after the usual gap of 2."""
    assert gain_us(two_turns(), DropCalls(rows(1))) == 8


def test_without_the_last_sync_the_device_still_has_to_finish() -> None:
    assert gain_us(two_turns(), DropCalls(rows(3))) == 0


def test_a_wait_gets_shorter_with_the_kernel_it_waits_for() -> None:
    assert gain_us(two_turns(), Scale(rows(0), 0.5)) == 50
    assert gain_us(two_turns(), SetTo(rows(0, 1), rows(40_000, 40_000))) == 120


def test_a_wait_never_costs_less_than_the_call_itself() -> None:
    """The call's own cost is the shortest wait seen, here 30; a kernel of 0 leaves launch 5 and wait 30 a turn: 2 x 35 + 8."""
    made = two_turns(kernel=33)
    assert [int(v) for v in made.trace().api["end"][[1, 3]] - made.trace().api["start"][[1, 3]]] == [30_000, 30_000]
    context = Context(made.trace())
    own = context.graph.link[context.graph.chains.call_end[1]] / 1000
    assert 0 < own <= 30
    assert gain_us(made, Remove(rows(0, 1))) == 2 * (30 - own)


def test_remove_takes_the_gap_before_a_kernel_with_it() -> None:
    made = Made()
    made.api("aclmdlExecuteAsync", 0, 5, correlation=1, blocking=0)
    for start in (2, 13, 24):  # 10 long, 1 apart
        made.task("kernel", start, start + 10, correlation=1)
    assert gain_us(made, Remove(rows(1))) == 11
    assert gain_us(made, *fuse(rows(0), rows(1, 2), rows(12_000))) == 20


def test_removed_kernels_hand_on_what_they_waited_for() -> None:
    """The first kernel of a launch is removed: the next one still cannot start before the launch."""
    made = Made()
    made.task("kernel", 0, 10)
    made.api("aclmdlExecuteAsync", 20, 25, correlation=1, blocking=0)
    made.task("kernel", 22, 32, correlation=1)
    made.task("kernel", 33, 43, correlation=1)
    assert gain_us(made, Remove(rows(1))) == 10


def test_events_order_streams_by_their_id() -> None:
    made = Made()
    made.task("kernel", 0, 50, stream=1)
    made.task("record", 50, 50, stream=1, event=4)
    made.task("wait", 1, 50, stream=2, event=4)
    made.task("kernel", 50, 60, stream=2)
    assert gain_us(made, SetTo(rows(0), rows(20_000))) == 30


def test_an_event_without_id_is_the_record_that_ends_where_the_wait_ends() -> None:
    made = Made()
    made.task("kernel", 0, 50, stream=1)
    made.task("record", 50, 51, stream=1)
    made.task("wait", 1, 52, stream=2)
    made.task("kernel", 53, 60, stream=2)
    assert gain_us(made, SetTo(rows(0), rows(20_000))) == 30


def test_an_event_wait_on_the_host_waits_for_the_record() -> None:
    made = Made()
    made.api("aclmdlExecuteAsync", 0, 5, correlation=1, stream=1, blocking=0)
    made.task("kernel", 2, 92, correlation=1)
    made.api("aclrtRecordEvent", 5, 6, correlation=2, stream=1, event=3, blocking=0)
    made.task("record", 92, 92, correlation=2, event=3)
    made.api("aclrtSynchronizeEvent", 6, 92, event=3, blocking=1)
    made.api("aclmdlExecuteAsync", 100, 105, correlation=3, stream=1, blocking=0)
    made.task("kernel", 102, 110, correlation=3)
    assert gain_us(made, SetTo(rows(0), rows(50_000))) == 40


def test_a_device_wide_wait_holds_for_every_stream() -> None:
    made = Made()
    for stream, end in ((1, 50), (2, 90)):
        made.api("aclmdlExecuteAsync", stream, stream + 1, correlation=stream, stream=stream, blocking=0)
        made.task("kernel", stream, end, correlation=stream, stream=stream)
    made.api("aclrtSynchronizeDevice", 5, 90, blocking=1)
    made.api("aclmdlExecuteAsync", 90, 91, correlation=3, stream=1, blocking=0)
    made.task("kernel", 91, 100, correlation=3)
    assert gain_us(made, SetTo(rows(1), rows(10_000))) == 38  # now the other stream decides, at 50, then the usual gap of 2


def copied_inputs(copy: float = 40) -> Made:
    """Three times: blocking copy (copy + 2), launch of 5, kernel 50 from 2 into the launch, wait for it. Period copy + 54."""
    made = Made()
    for turn in range(3):
        start = turn * (copy + 54)
        facts = {"correlation": 2 * turn, "bytes": 1 << 20, "direction": "h2d", "host_kind": "pinned"}
        made.api("aclrtMemcpy", start, start + copy + 2, blocking=1, **facts)
        made.task("copy", start + 1, start + copy + 1, stream=9, **facts)
        made.api("aclmdlExecuteAsync", start + copy + 2, start + copy + 7, correlation=2 * turn + 1, stream=1, blocking=0)
        made.task("kernel", start + copy + 4, start + copy + 54, correlation=2 * turn + 1)
        made.api("aclrtSynchronizeStream", start + copy + 7, start + copy + 54, stream=1, blocking=1)
    return made


def test_unblock_lets_the_kernel_wait_for_the_copy_instead_of_the_host() -> None:
    """The call now takes 1: the launch begins at 1, its kernel when the copy is there (41) instead of at 44: 3 per copy."""
    assert gain_us(copied_inputs(), Unblock(rows(0, 3, 6), 1_000)) == 9


def test_overlap_hides_copies_behind_the_kernels_before_them() -> None:
    """The second and third copy run beside the kernel before; what is left of them is the call (1): the launch at +1, its kernel
    2 later, instead of 44 after the wait: 41 each. The first copy has nothing to hide behind and only stops blocking: 3 again."""
    assert gain_us(copied_inputs(), Overlap(rows(3, 6), 1_000)) == 82
    assert gain_us(copied_inputs(), Overlap(rows(0, 3, 6), 1_000)) == 85


def test_overlapped_copies_still_take_their_time() -> None:
    """Copies of 200 cannot hide behind kernels of 50: they follow each other, 200 apart."""
    made = copied_inputs(copy=200)
    before = 3 * 254
    gained = gain_us(made, Overlap(rows(0, 3, 6), 1_000))
    # copy 1 ends at 201, copy 2 begins then (its launch was at 208), copy 3 ends 400 after the launch; its kernel takes 50
    assert before - gained >= 3 * 200 + 50
    assert before - gained <= 3 * 200 + 50 + 20


def test_move_takes_tasks_off_a_stream_and_keeps_their_consumers_waiting() -> None:
    """Kernel 100, copy 30 and kernel 100 in one stream: on its own stream the copy runs beside the first kernel."""
    made = Made()
    made.api("aclmdlExecuteAsync", 0, 1, correlation=1, stream=1, blocking=0)
    made.task("kernel", 1, 101, correlation=1)
    made.api("aclrtMemcpyAsync", 1, 2, correlation=2, stream=1, blocking=0, bytes=100, direction="h2d", host_kind="pinned")
    made.task("copy", 101, 131, correlation=2, direction="h2d")
    made.api("aclmdlExecuteAsync", 2, 3, correlation=3, stream=1, blocking=0)
    made.task("kernel", 131, 231, correlation=3)
    assert gain_us(made, Move(rows(1))) == 30


def test_merge_leaves_one_copy() -> None:
    made = Made()
    for turn in range(4):
        facts = {"correlation": turn, "bytes": 100, "direction": "h2d", "host_kind": "pinned"}
        made.api("aclrtMemcpy", turn * 12, turn * 12 + 12, blocking=1, **facts)
        made.task("copy", turn * 12 + 1, turn * 12 + 11, stream=9, **facts)
    made.api("aclmdlExecuteAsync", 48, 50, correlation=9, blocking=0)
    made.task("kernel", 49, 60, correlation=9)
    assert gain_us(made, *merge(rows(3), rows(0, 1, 2), rows(11_000), rows(0, 1, 2))) == 36 - 1


def test_a_second_thread_is_not_moved_by_the_first() -> None:
    made = two_turns()
    made.api("aclrtGetDevice", 300, 301, thread=1)
    context = Context(made.trace())
    assert context.gain([DropCalls(rows(1))]) == 8_000  # the window ends with the device's work, not with that call


def test_rows_inside_a_call_that_waits_follow_it() -> None:
    """A runtime-level row inside the wait is no obstacle: the wait shrinks as a whole."""
    made = two_turns()
    made.api("StreamSynchronize", 6, 101, level="runtime")
    assert gain_us(made, Scale(rows(0), 0.5)) == 50


def test_times_that_contradict_an_edge_are_counted_and_let_go() -> None:
    made = two_turns()
    made.task("kernel", 400, 410, correlation=5)
    made.api("aclmdlExecuteAsync", 900, 905, stream=1, correlation=5, blocking=0)  # launched long after its kernel ran
    context = Context(made.trace())
    assert context.graph.dropped == 1
    assert (context.replay.times() == context.graph.time).all()


def test_model_replay_and_explained_share() -> None:
    made = Made()
    for turn, length in enumerate((10, 10, 40)):  # the median kernel takes 10
        made.api("aclmdlExecuteAsync", 60 * turn, 60 * turn + 5, correlation=turn, stream=1, blocking=0)
        made.task("kernel", 60 * turn + 2, 60 * turn + 2 + length, correlation=turn, name="k")
    quality = Context(made.trace()).quality
    assert quality.measured == 162_000
    assert quality.modelled == 132_000
    assert quality.explained == 1.0


def test_a_late_start_nothing_explains_lowers_the_explained_share() -> None:
    made = Made()
    made.task("kernel", 0, 50)
    made.task("kernel", 80, 100)  # 30 late, and nobody knows why; 2 of it would be usual
    assert Context(made.trace()).quality.explained == 1 - 28 / 100


def handed(prepare: float) -> Made:
    """Thread 0 prepares, calls until prepare + 10 and hands over; thread 1 takes at +2, launches 3 later a kernel of 50."""
    made = Made()
    for turn in range(2):
        start = turn * (prepare + 100)
        made.api("aclrtMalloc", start + prepare, start + prepare + 10, thread=0)
        made.marker("enqueue", "q", start + prepare + 10, start + prepare + 11, thread=0, correlation=turn)
        made.marker("dequeue", "q", start + prepare + 13, start + prepare + 14, thread=1, correlation=turn)
        made.api("aclmdlExecuteAsync", start + prepare + 16, start + prepare + 20, thread=1, correlation=turn, blocking=0)
        made.task("kernel", start + prepare + 18, start + prepare + 68, correlation=turn)
        made.api("aclrtGetDevice", start + prepare + 90, start + prepare + 91, thread=0)
    return made


def test_work_handed_to_another_thread_comes_sooner_when_it_is_prepared_sooner() -> None:
    """Dropping the second aclrtMalloc (10) brings the second launch 10 forward, though it stands on the other thread."""
    made = handed(30)
    second = [i for i, r in enumerate(made.rows["api"]) if r["name"] == "aclrtMalloc"][1]
    assert gain_us(made, DropCalls(rows(second))) == 10


def test_a_launch_that_found_the_queue_full_returns_sooner_when_kernels_are_shorter() -> None:
    """A queue of 40 places: launches of 1 and kernels of 10 each. From the 42nd on a launch waits until the kernel 40 before
    it starts. With kernels of 5 all is over in half the time: the host no longer holds the device back."""
    made, now, start, kernels = Made(), 0.0, [], 120
    for number in range(kernels):
        begin = max(now + 1, start[-1] + 10 if start else 0)
        start.append(begin)
        back = now + 1 if number <= 40 else max(now + 1, start[number - 40])
        made.api("aclnnAdd", now, back, correlation=number, stream=1, blocking=0)
        made.task("kernel", begin, begin + 10, correlation=number)
        now = back
    context = Context(made.trace())
    assert (context.graph.kind == QUEUE).sum() > 70
    assert (context.replay.times() == context.graph.time).all()
    assert gain_us(made, Scale(np.arange(kernels), 0.5)) == kernels * 5


def test_engine_order_of_copies_on_different_streams() -> None:
    made = Made()
    h2d = events.DIRECTIONS.index("h2d")
    made.task("copy", 0, 40, stream=1, direction=h2d)
    made.task("copy", 40, 80, stream=2, direction=h2d)
    assert gain_us(made, SetTo(rows(0), rows(10_000))) == 30
