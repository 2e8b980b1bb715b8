"""Launch moments of profiles without host calls: the framework's queue says when work was handed to the device."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from npu.units import US
from profiler import open as open_trace
from profiler.analysis import analyze, analyze_with_path
from profiler.analysis.context import Context
from profiler.analysis.dispatch import dispatched
from profiler.analysis.launches import join
from profiler.analysis.whatif import Wanted, what_if
from profiler.trace import Columns, Trace
from tests.made import Made

DATA = Path(__file__).parents[2] / "data"
LEVEL0 = DATA / "real" / "level0_step" / "rank0_ascend_pt"
LEVEL1 = DATA / "real" / "level1_queue" / "rank1_ascend_pt"


def test_each_kernel_of_a_real_file_finds_the_entry_its_real_launch_lies_in() -> None:
    """The Level1 file with its calls taken away: what launched a kernel is known, and lies inside of the entry found."""
    trace = open_trace(LEVEL1)
    real = join(trace).row
    found = dispatched(replace(trace, api=Columns()))
    assert found is not None
    api, row = found.trace.api, join(found.trace).row
    work = np.flatnonzero(trace.tasks_of("kernel", "aicpu") & (real >= 0))
    assert len(work) == 187
    call, entry = real[work], row[work]
    assert (entry >= 0).all()
    assert (trace.api["thread"][call] == api["thread"][entry]).all()
    assert (api["start"][entry] <= trace.api["start"][call]).all()
    assert (trace.api["start"][call] <= api["end"][entry]).all()


def test_the_real_level0_step_is_explained_as_that_of_level1_is() -> None:
    context = Context(open_trace(LEVEL0))
    assert context.quality.explained > 0.99
    assert context.quality.modelled == pytest.approx(context.quality.measured, rel=0.005)
    reasons = analyze(open_trace(LEVEL0)).idle[0].reasons
    # The Level1 profile of another run of this step says 16.0 ms of framework, 5.0 of the user's own code, 7.65 of collection.
    assert reasons["framework"] == pytest.approx(16.66e6, rel=0.01)
    assert reasons["user"] == pytest.approx(5.87e6, rel=0.01)
    assert reasons["collection"] == pytest.approx(7.64e6, rel=0.01)


def test_what_level0_hides_stays_unjudged() -> None:
    report, path = analyze_with_path(open_trace(LEVEL0))
    assert [f.id for f in report.findings][:2] == ["capture-overhead", "step-start-stall"]
    assert "sync-every-submit" in next(u.rules for u in report.unjudged if u.need == "calls")
    assert next(line for line in report.checklist if line.layer == "host").state == "findings"
    assert "api" not in report.rows
    assert {table for table, _ in path} == {"task", "marker"}  # there is no row of a call to point at


def queue(late: float = 0.0) -> Made:
    """Four operators of 20 on thread 1; thread 2 takes each entry out 10 after it was put in (and `late`), for 30; two kernels
    of 100 each behind it, of which the arrow tells the second."""
    made = Made()
    made.meta["generator"] = "torch_npu"
    busy = 0.0
    for number in range(4):
        begin = 300.0 * number
        made.marker("cpu_op", "aten::add", begin, begin + 20, thread=1, correlation=10 * number + 9)
        made.marker("enqueue", "Enqueue", begin + 10, begin + 15, thread=1, correlation=500 + number)
        made.marker("dequeue", "Dequeue@add", begin + 25 + late, begin + 55 + late, thread=2, correlation=500 + number)
        for part in (8, 9):
            busy = max(busy, begin + 40 + late)
            made.task("kernel", busy, busy + 100, op_type="Add", name="Add", correlation=10 * number + part)
            busy += 100
    return made


def rows(trace: Trace) -> list[tuple[str, float]]:
    found = join(trace).row
    return [(trace.strings[int(trace.api["name"][r])], int(trace.api["start"][r]) / US) if r >= 0 else ("", -1) for r in found]


def test_tasks_before_an_arrow_belong_to_its_operator() -> None:
    found = dispatched(queue().trace())
    assert found is not None
    assert rows(found.trace) == [
        ("", -1),  # before the first arrow nothing says where its operator's tasks begin
        ("Dequeue@add", 25),
        ("Dequeue@add", 325),
        ("Dequeue@add", 325),
        ("Dequeue@add", 625),
        ("Dequeue@add", 625),
        ("Dequeue@add", 925),
        ("Dequeue@add", 925),
    ]


def test_without_a_queue_the_operator_launches() -> None:
    made = queue()
    made.rows["marker"] = [r for r in made.rows["marker"] if r["name"] == "aten::add"]
    found = dispatched(made.trace())
    assert found is not None
    assert rows(found.trace)[1:3] == [("aten::add", 0), ("aten::add", 300)]


def test_a_task_that_began_before_the_entry_is_not_its_work() -> None:
    found = dispatched(queue(late=200).trace())
    assert found is not None and rows(found.trace)[2] == ("Dequeue@add", 525)
    early = queue(late=200)
    early.rows["task"][2].update(start=100_000, end=110_000)
    found = dispatched(early.trace())
    assert found is not None and ("Dequeue@add", 525) not in rows(found.trace)[:2]
    assert rows(found.trace)[2] == ("", -1)


def test_an_entry_without_an_arrow_may_have_launched_what_lies_before_the_next_one() -> None:
    """Unless it is one of events, which launches no kernel."""
    for name, answer in (("Dequeue@aclnnMul", ("", -1)), ("Dequeue@record_event", ("Dequeue@add", 625))):
        made = queue()
        made.marker("enqueue", "Enqueue", 400, 405, thread=1, correlation=600)
        made.marker("dequeue", name, 410, 415, thread=2, correlation=600)
        found = dispatched(made.trace())
        assert found is not None
        assert rows(found.trace)[4:6] == [answer, ("Dequeue@add", 625)]


def test_a_collective_ends_the_run_of_an_operator() -> None:
    made = queue()
    made.comm("op", "hcom_allReduce_", 210, 240, correlation=15)
    made.rows["task"][2]["correlation"] = 14
    found = dispatched(made.trace())
    assert found is not None
    assert rows(found.trace)[2:4] == [("", -1), ("Dequeue@add", 325)]


@pytest.mark.parametrize("kinds", [("record",), ("wait",)])
def test_events_have_entries_of_their_own(kinds: tuple[str, ...]) -> None:
    made = queue()
    for kind in kinds:
        made.task(kind, 345, 346, correlation=15)
    found = dispatched(made.trace())
    assert found is not None and rows(found.trace)[-1] == ("", -1)


def test_a_profile_with_calls_is_left_alone() -> None:
    made = queue()
    made.api("launch", 0, 1, correlation=8)
    assert dispatched(made.trace()) is None
    assert dispatched(Made().trace()) is None


def test_a_what_if_knows_that_the_host_is_the_brake() -> None:
    """Kernels of half the length end sooner, but the next ones come no sooner than their launch: only the last two gain."""
    change = what_if(queue().trace(), Wanted(operators={"Add": 0.5})).changes[0]
    assert change.gain is not None
    assert change.gain.ns == 100 * US
    without = queue()
    without.rows["marker"].clear()
    change = what_if(without.trace(), Wanted(operators={"Add": 0.5})).changes[0]
    assert change.gain is not None
    assert change.gain.ns == 400 * US


def test_the_views_call_entries_what_they_are() -> None:
    (calls,) = (v.rows for v in analyze(open_trace(LEVEL0), all_findings=True, views=True).views if v.id == "calls")
    assert {row["reason"] for row in calls if str(row["name"]).startswith(("Dequeue@", "Enqueue"))} == {"framework"}
