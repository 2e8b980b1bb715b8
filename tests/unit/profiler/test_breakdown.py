"""View V3: figures by hand, and the figures of real files."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from profiler.analysis.context import Context
from profiler.findings import Breakdown
from tests.made import Made

DATA = Path(__file__).parents[2] / "data" / "breakdown"


def only(made: Made) -> Breakdown:
    (record,) = Context(made.trace()).breakdown
    return record


def test_computing_communication_copies_and_idle_by_hand() -> None:
    made = Made()
    made.task("kernel", 10, 30)
    made.task("kernel", 20, 40, stream=2)  # C = [10, 40) + [70, 80) = 40
    made.comm("op", "allReduce", 35, 60)  # M = 25, of it 5 under C
    made.task("copy", 55, 68, stream=3)  # 8 of it beside neither
    made.task("kernel", 70, 80)
    record = only(made)
    assert (record.stage, record.computing, record.communication) == (70_000, 40_000, 25_000)
    assert (record.overlapped, record.communication_not_overlapped) == (5_000, 20_000)
    assert (record.free, record.copies, record.copies_hidden, record.idle) == (10_000, 8_000, 5_000, 2_000)
    assert record.stage == record.computing + record.communication_not_overlapped + record.free
    assert record.preparing is None


def test_ai_cpu_time_beside_other_kernels_does_not_count_as_its_share() -> None:
    made = Made()
    made.task("aicpu", 0, 50, task_type="AI_CPU")
    made.task("kernel", 20, 30, stream=2)
    record = only(made)
    assert (record.computing, record.aicpu) == (50_000, 40_000)


def test_kernels_of_a_collective_are_no_computation() -> None:
    made = Made()
    made.task("kernel", 0, 10)
    made.task("kernel", 10, 30, stream=5, correlation=7)  # a reduction inside the collective
    made.comm("op", "allReduce", 10, 40, correlation=7)
    record = only(made)
    assert (record.computing, record.communication_not_overlapped, record.free) == (10_000, 30_000, 0)


def test_work_belongs_to_the_step_that_launched_it() -> None:
    made = Made()
    for step in range(3):
        start = step * 100
        made.marker("step", f"ProfilerStep#{step + 7}", start, start + 100)
        made.api("aclnnAdd", start + 10, start + 15, correlation=step)
        made.task("kernel", start + 60, start + 130, correlation=step)  # runs into the next step
    records = Context(made.trace()).breakdown
    assert [r.step for r in records] == [7, 8, 9]
    assert {r.computing for r in records} == {70_000}
    assert {(r.preparing, r.tail) for r in records} == {(60_000, -30_000)}


def test_each_device_has_its_own_record() -> None:
    made = Made()
    made.task("kernel", 0, 10)
    made.task("kernel", 5, 30, device=3)
    assert [(r.device, r.computing) for r in Context(made.trace()).breakdown] == [(0, 10_000), (3, 25_000)]


def test_nothing_recorded_gives_no_record() -> None:
    assert Context(Made().trace()).breakdown == ()


@pytest.mark.parametrize(
    ("rank", "computing", "exposed", "overlapped", "free", "stage", "preparing"),
    [
        (0, 8873.756, 101963.203, 4028.675, 25744.050, 136581.0, 17902.5),
        (1, 8878.295, 96359.047, 4016.239, 26675.274, 131912.5, 20433.25),
    ],
)
def test_a_real_step_gives_what_its_step_trace_time_says(
    rank: int, computing: float, exposed: float, overlapped: float, free: float, stage: float, preparing: float
) -> None:
    made = Made()
    with (DATA / f"level1_rank{rank}.csv").open() as rows:
        for row in csv.DictReader(rows):
            start, end = int(row["start_ns"]) / 1000, int(row["end_ns"]) / 1000
            if row["kind"] == "comm":
                made.comm("op", "allReduce", start, end)
            elif row["kind"] == "step":
                made.marker("step", "ProfilerStep#50", start, end)
            else:
                made.task(row["kind"], start, end, stream=int(row["stream"]), task_type=row["task_type"])
    record = only(made)
    assert record.step == 50
    # durations have three decimals in the files, start times of the real tool steps of 0.25 us
    for ns, us in (
        (record.computing, computing),
        (record.communication_not_overlapped, exposed),
        (record.overlapped, overlapped),
        (record.free, free),
    ):
        assert ns / 1000 == pytest.approx(us, abs=0.05)
    assert record.preparing is not None
    assert record.stage / 1000 == pytest.approx(stage, abs=0.5)
    assert record.preparing / 1000 == pytest.approx(preparing, abs=0.5)
