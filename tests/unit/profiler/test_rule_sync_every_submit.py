"""Rule 20. A turn: launch 5, kernel 200 from 2 into it, wait to its end, 98 of user code: 300 long, in us."""

from __future__ import annotations

import pytest

from tests.made import Made
from tests.unit.profiler.eager import Eager
from tests.unit.profiler.said import loud, said

RULE = "sync-every-submit"


def turns(count: int = 10, launches: int = 1, read: bool = False, name: str = "aclrtSynchronizeStream") -> Made:
    made = Made()
    correlation = 0
    for turn in range(count):
        start = turn * (launches * 200 + 100)
        for number in range(launches):
            correlation += 1
            made.api(
                "aclmdlExecuteAsync",
                start + 5 * number,
                start + 5 * number + 5,
                stream=1,
                correlation=correlation,
                blocking=0,
                site="loop.py:3",
            )
            made.task("kernel", start + 2 + 200 * number, start + 202 + 200 * number, correlation=correlation, model=1)
        end = start + 2 + 200 * launches
        made.api(name, start + 5 * launches, end, stream=1, blocking=1, site="loop.py:4")
        if read:
            correlation += 1
            made.api(
                "aclrtMemcpy",
                end + 1,
                end + 20,
                correlation=correlation,
                bytes=4000,
                direction="d2h",
                host_kind="pinned",
                blocking=1,
            )
            made.task("copy", end + 2, end + 20, stream=0, correlation=correlation, bytes=4000, direction="d2h")
    return made


def test_positive() -> None:
    """The nine waits before another launch go: kernels follow each other after 2 instead of 100: 9 x 98 = 882."""
    (finding,) = loud(turns(), RULE)
    assert finding.gain is not None
    assert (finding.gain.ns, finding.gain.method, finding.gain.confidence) == (882_000, "replay", "high")
    assert finding.severity == "critical"
    assert (finding.facts["count"], finding.facts["bubble_ns"]) == (9, 100_000)
    assert finding.sites == ("loop.py:4",)
    assert finding.facts["call"] == "aclrtSynchronizeStream"


def test_a_device_wide_wait_after_every_submission_counts_as_well() -> None:
    (finding,) = loud(turns(name="aclrtSynchronizeDevice"), RULE)
    assert finding.facts["count"] == 9


def test_unknown_streams_lower_the_confidence() -> None:
    made = turns()
    for row in made.rows["api"]:
        row["stream"] = -1
    (finding,) = loud(made, RULE)
    assert finding.gain is not None and finding.gain.confidence == "medium"


def test_near_miss_two_launches_a_wait_still_fire_and_three_do_not() -> None:
    assert len(said(turns(launches=2), RULE)) == 1
    assert said(turns(launches=3), RULE) == []


def test_near_miss_the_host_reads_the_result_before_the_next_launch() -> None:
    assert said(turns(read=True), RULE) == []


def test_near_miss_too_few_repetitions() -> None:
    assert said(turns(count=3), RULE) == []  # two waits before another launch


@pytest.mark.parametrize(("user", "times"), [(0.5, 0), (30, 1)])
def test_quiet_when_little_is_lost(user: float, times: int) -> None:
    """Less than 50 us a turn is no note; 30 of 235 is no note either, but a share that matters."""
    made = Made()
    for turn in range(10):
        start = turn * (205 + user)
        made.api("aclmdlExecuteAsync", start, start + 5, stream=1, correlation=turn, blocking=0)
        made.task("kernel", start + 2, start + 202, correlation=turn, model=1)
        made.api("aclrtSynchronizeStream", start + 5, start + 205, stream=1, blocking=1)
    assert len(loud(made, RULE)) == times


def test_clean_one_wait_at_the_end() -> None:
    made = Made()
    for turn in range(10):
        made.api("aclmdlExecuteAsync", turn * 10, turn * 10 + 5, stream=1, correlation=turn, blocking=0)
        made.task("kernel", 2 + 200 * turn, 202 + 200 * turn, correlation=turn, model=1)
    made.api("aclrtSynchronizeStream", 100, 2002, stream=1, blocking=1)
    assert said(made, RULE) == []


def test_the_device_works_on_while_the_host_waits_for_another_stream() -> None:
    made = turns()
    made.task("kernel", 0, 3000, stream=7)
    assert said(made, RULE) == []


def several(waits: int, launches: int) -> Eager:
    """Steps of so many waits, each behind so many kernels of 50; the host thinks 30 before it goes on."""
    run = Eager()
    for _ in range(5):
        run.begin()
        for _ in range(waits):
            for _ in range(launches):
                run.launch("MatMulV2", 50)
            run.sync()
            run.user(30)
        run.end()
    return run


def test_several_waits_in_a_step_count_behind_some_launches_as_well() -> None:
    (finding,) = loud(several(4, 10).made, RULE)
    assert finding.facts["call"] == "aclrtSynchronizeStream"
    assert loud(several(4, 16).made, RULE) != []
    assert loud(several(4, 17).made, RULE) == []
    assert loud(several(0, 0).made, RULE) == []


def test_one_wait_in_a_step_is_the_end_of_a_batch() -> None:
    run = Eager()
    for _ in range(8):
        run.begin()
        for _ in range(10):
            run.launch("MatMulV2", 50)
        run.end()
        run.user(30)
    assert loud(run.made, RULE) == []
