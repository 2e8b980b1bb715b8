"""The discrete-event loop: FIFO, dependencies, no core or engine over-booked, work conserved, deterministic."""

from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from npu.device.scheduler import PROGRAM_GAP, QUEUE_GAP, Scheduler
from npu.device.task import COPY, KERNEL, OTHER, RECORD, WAIT, Event, Row, Step, Task
from npu.events import TABLES
from npu.soc import find

CHIP = find("Ascend910B3")  # 20 cube cores, 40 vector cores
NAMES = [c.name for c in TABLES["task"][:-1]]


def device() -> tuple[Scheduler, list[dict[str, int]]]:
    rows: list[dict[str, int]] = []
    return Scheduler(CHIP, 0, lambda *values: rows.append(dict(zip(NAMES, values, strict=True)))), rows


def kernel(duration: int, aic: int = 0, aiv: int = 0, hbm: float = 0.0) -> Task:
    return Task(KERNEL, duration, Row(), aic=aic, aiv=aiv, hbm=hbm)


def test_one_stream_is_a_fifo_with_the_queue_gap():
    chip, rows = device()
    chip.add_stream(1)
    for _ in range(3):
        chip.submit(1, kernel(10_000, aic=20), 0)
    chip.advance(1_000_000)
    assert [(r["start"], r["end"]) for r in rows] == [
        (0, 10_000),
        (10_000 + QUEUE_GAP, 20_000 + QUEUE_GAP),
        (20_000 + 2 * QUEUE_GAP, 30_000 + 2 * QUEUE_GAP),
    ]


def test_kernels_of_two_streams_overlap_when_their_blocks_fit():
    chip, rows = device()
    for stream in (1, 2, 3):
        chip.add_stream(stream)
        chip.submit(stream, kernel(10_000, aic=10), 0)
    chip.advance(100_000)
    assert [(r["stream"], r["start"]) for r in rows] == [(1, 0), (2, 0), (3, 10_000)]  # 10 + 10 of 20 cores, the third waits


def test_two_copies_of_one_direction_share_its_bandwidth():
    chip, rows = device()
    for stream in (1, 2):
        chip.add_stream(stream)
    chip.submit(1, Task(COPY, 10_000, Row(), engine="h2d"), 0)
    chip.submit(2, Task(COPY, 10_000, Row(), engine="h2d"), 4_000)
    chip.advance(100_000)
    # alone until 4 us (6 us left), then both at half speed: the first ends at 4 + 12; the second has done 6 and needs 4 more
    assert [(r["stream"], r["end"]) for r in rows] == [(1, 16_000), (2, 20_000)]


def test_copies_of_opposite_directions_do_not_disturb_each_other():
    chip, rows = device()
    for stream, engine in ((1, "h2d"), (2, "d2h")):
        chip.add_stream(stream)
        chip.submit(stream, Task(COPY, 10_000, Row(), engine=engine), 0)
    chip.advance(100_000)
    assert {r["end"] for r in rows} == {10_000}


def test_kernels_that_want_more_than_all_hbm_slow_down_by_their_share_of_it():
    chip, rows = device()
    for stream in (1, 2):
        chip.add_stream(stream)
        chip.submit(stream, kernel(10_000, aic=5, hbm=0.8), 0)
    chip.advance(100_000)
    # total 1.6: each runs at 1 / (0.2 + 0.8 * 1.6) = 1 / 1.48
    assert {r["end"] for r in rows} == {14_800}


def test_an_event_orders_two_streams_without_the_host():
    chip, rows = device()
    chip.add_stream(1)
    chip.add_stream(2)
    event = Event(0)
    chip.submit(2, Task(WAIT, 0, Row(), event=event, target=1), 0)
    chip.submit(2, kernel(1_000, aic=1), 0)
    chip.submit(1, kernel(50_000, aic=1), 0)
    chip.submit(1, Task(RECORD, 1_000, Row(), event=event), 0)
    chip.advance(1_000_000)
    recorded = 50_000 + QUEUE_GAP + 1_000
    by_kind = [(r["stream"], r["kind"], r["start"], r["end"]) for r in rows]
    assert (2, WAIT, 0, recorded) in by_kind
    assert (2, KERNEL, recorded, recorded + 1_000) in by_kind


def test_what_can_never_happen_has_no_next_event():
    chip, _ = device()
    chip.add_stream(1)
    wait = Task(WAIT, 0, Row(), event=Event(0), target=1)
    chip.submit(1, wait, 0)
    chip.advance(1 << 60)
    assert chip.next_event() == -1 and wait.done_at == -1


def test_a_program_runs_its_kernels_one_after_another_and_computes_once():
    chip, rows = device()
    chip.add_stream(1)
    steps = [Step(5_000, 20, 0, 0.0, KERNEL, 7, 8, n) for n in range(4)]
    done: list[int] = []
    program = Task(KERNEL, 0, Row(), program=steps, on_done=done.append)
    program.correlation = 3
    chip.submit(1, program, 100)
    chip.advance(1_000_000)
    assert [r["start"] for r in rows] == [100 + n * (5_000 + PROGRAM_GAP) for n in range(4)]
    assert [r["kernel"] for r in rows] == [0, 1, 2, 3]
    assert {r["correlation"] for r in rows} == {3}
    assert done == [100 + 4 * 5_000 + 3 * PROGRAM_GAP]


def test_what_is_submitted_later_cannot_change_what_has_happened():
    chip, rows = device()
    chip.add_stream(1)
    chip.add_stream(2)
    chip.submit(1, kernel(1_000, aic=20), 0)
    chip.advance(5_000)
    chip.submit(2, kernel(1_000, aic=20), 2_000)  # by a thread whose clock is behind
    chip.advance(10_000)
    assert [(r["start"], r["end"]) for r in rows] == [(0, 1_000), (5_000, 6_000)]


jobs = st.lists(
    st.tuples(st.integers(1, 4), st.integers(1, 5_000), st.integers(0, 20), st.integers(0, 40), st.integers(0, 9_000)),
    min_size=1,
    max_size=40,
)


def _run(work: list[tuple[int, int, int, int, int]]) -> list[dict[str, int]]:
    chip, rows = device()
    for stream in range(1, 5):
        chip.add_stream(stream)
    for stream, duration, aic, aiv, when in work:
        chip.submit(stream, kernel(duration, aic=aic, aiv=aiv), when)
    while chip.next_event() >= 0:
        chip.advance(chip.next_event())
    return rows


@settings(max_examples=60, deadline=None)
@given(jobs)
def test_random_work_keeps_the_laws_of_the_device(work):
    rows = _run(work)
    assert len(rows) == len(work)
    assert rows == _run(work)  # deterministic
    for stream in range(1, 5):
        mine = [r for r in rows if r["stream"] == stream]
        assert all(a["end"] <= b["start"] for a, b in itertools.pairwise(mine))  # FIFO, one at a time
        assert [r["end"] - r["start"] for r in mine] == [d for s, d, *_ in work if s == stream]
    for moment in {r["start"] for r in rows}:
        running = [
            (r, w)
            for r, w in zip(sorted(rows, key=lambda r: (r["stream"], r["start"])), sorted(work, key=lambda w: w[0]), strict=True)
            if r["start"] <= moment < r["end"]
        ]
        assert sum(w[2] for _, w in running) <= CHIP.aic and sum(w[3] for _, w in running) <= CHIP.aiv  # never over-booked


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(1, 50_000), min_size=1, max_size=8))
def test_shared_bandwidth_conserves_work(sizes):
    """Copies of one direction all queued at 0 end, all together, exactly when one after another would (within rounding)."""
    chip, rows = device()
    for number, size in enumerate(sizes):
        chip.add_stream(number)
        chip.submit(number, Task(COPY, size, Row(), engine="h2d"), 0)
    chip.advance(1 << 40)
    assert abs(max(r["end"] for r in rows) - sum(sizes)) <= len(sizes) ** 2


def test_a_gate_holds_its_stream_until_it_opens():
    chip, rows = device()
    chip.add_stream(1)
    opened = [-1]
    task = Task(OTHER, 0, Row())
    reached: list[int] = []
    task.gate, task.on_start = (lambda: opened[0]), reached.append
    chip.submit(1, task, 500)
    chip.submit(1, kernel(1_000), 0)
    chip.advance(10_000)
    assert reached == [500] and task.done_at == -1 and rows == []
    opened[0] = 0
    assert chip.next_event() == 10_000  # it ends now
    chip.advance(20_000)
    assert (task.done_at, rows[0]["start"], rows[1]["end"]) == (10_000, 500, 11_000)


def test_the_event_of_another_device_can_lie_ahead():
    """This device has simulated up to 1 us, the other one's event happened at 7 us: the wait ends then."""
    chip, _ = device()
    chip.add_stream(1)
    event = Event(0)
    wait = Task(WAIT, 0, Row(), event=event, target=1)
    chip.submit(1, wait, 0)
    chip.advance(1_000)
    event.completed, event.time = 1, 7_000
    assert chip.next_event() == 7_000
    chip.advance(8_000)
    assert wait.done_at == 7_000


def test_a_head_that_waits_too_long_fails_and_the_stream_goes_on():
    chip, _ = device()
    stream = chip.add_stream(1)
    wait = Task(WAIT, 0, Row(), event=Event(0), target=1)
    wait.limit = 2_000
    chip.submit(1, wait, 1_000)
    behind = kernel(1_000)
    chip.submit(1, behind, 1_000)
    assert chip.next_event() == 1_000
    chip.advance(10_000)
    assert (wait.done_at, behind.done_at) == (3_000, 4_000)
    assert stream.error is not None and stream.error.situation == "wait_timeout" and stream.culprit is wait


def test_a_stream_that_stops_forgets_what_comes_behind_a_failure():
    chip, rows = device()
    stream = chip.add_stream(1)
    stream.stops = True
    wait = Task(WAIT, 0, Row(), event=Event(0), target=1)
    wait.limit = 2_000
    tasks = [wait, kernel(1_000), kernel(1_000)]
    for task in tasks[:2]:
        chip.submit(1, task, 0)
    chip.advance(5_000)
    chip.submit(1, tasks[2], 5_000)
    assert [t.done_at for t in tasks] == [2_000, 2_000, 5_000]
    assert len(rows) == 1 and stream.failed and stream.idle


def test_a_kernel_over_its_limit_is_stopped_with_an_error():
    chip, _ = device()
    stream = chip.add_stream(1)
    chip.kernel_limit = 3_000
    slow, fast = kernel(10_000), kernel(1_000)
    chip.submit(1, slow, 0)
    chip.submit(1, fast, 0)
    chip.advance(100_000)
    assert (slow.done_at, fast.done_at) == (3_000, 3_000 + QUEUE_GAP + 1_000)
    assert stream.error is not None and stream.error.situation == "aicore_timeout"


def test_clearing_a_stream_lets_go_of_its_cores():
    chip, _ = device()
    chip.add_stream(1)
    chip.add_stream(2)
    held, other = kernel(50_000, aic=20), kernel(1_000, aic=20)
    chip.submit(1, held, 0)
    chip.submit(2, other, 0)
    chip.advance(2_000)
    chip.clear(1)
    chip.advance(10_000)
    assert (held.done_at, other.done_at) == (2_000, 3_000)


def test_of_two_heads_the_one_of_lower_priority_number_goes_first():
    chip, _ = device()
    for number, priority in ((1, 0), (2, 5), (3, 1)):
        chip.add_stream(number, priority)
    tasks = {n: kernel(1_000, aic=20) for n in (1, 2, 3)}
    for number, when in ((1, 0), (2, 100), (3, 200)):
        chip.submit(number, tasks[number], when)
    chip.advance(10_000)
    assert [tasks[n].done_at for n in (1, 3, 2)] == [1_000, 2_000, 3_000]


def test_a_task_that_has_ended_keeps_nothing_of_what_it_moved():
    chip, _ = device()
    chip.add_stream(0)
    task = Task(COPY, 10, Row(), on_done=lambda _time: None)
    chip.submit(0, task, 0)
    chip.advance(100)
    assert task.done_at == 10 and task.on_done is None


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 1), st.integers(0, 30), st.integers(1, 40), st.integers(0, 20), st.floats(0, 1)), max_size=25),
    st.integers(1, 60),
)
def test_kernels_that_run_alone_are_stepped_over_without_a_difference(tasks, stride):
    found = []
    for watched in (False, True):
        chip, rows = device()
        if watched:  # somebody who is asked before each task keeps the loop from stepping over it
            chip.begin = lambda task, now, limit: task.duration
        for stream in range(2):
            chip.add_stream(stream)
        now = 0
        for stream, later, duration, aic, hbm in tasks:
            now += later * 100
            chip.submit(stream, kernel(duration * 100, aic=aic, hbm=hbm), now)
            chip.advance(now - now % (stride * 100))
        chip.advance(1 << 40)
        found.append((rows, chip.busy_ns, chip.tasks_done))
    assert found[0] == found[1]
