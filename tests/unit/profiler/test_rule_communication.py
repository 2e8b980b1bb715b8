"""Rules on when ranks meet and what that costs, on hand-made steps; each near miss lies just below the threshold. Times in us."""

from __future__ import annotations

import pytest

from npu.units import KIB, MIB
from tests.unit.profiler.exchange import Steps, transfers, waiting_for
from tests.unit.profiler.said import loud, said

ALL = (
    "late-rank",
    "exposed-communication",
    "slow-link",
    "frequent-collectives",
    "host-sync-around-collective",
    "small-packets",
    "comm-compute-contention",
    "collective-below-model",
    "imbalance",
    "pipeline-bubble",
    "staging-copy",
    "retransmission",
)


def test_a_late_rank() -> None:
    """Five steps of 2 + 500 kernel, 200 of waiting for rank 3, 10 of transfer: without the wait each is 200 shorter."""
    (found,) = loud(waiting_for(3, 200).made, "late-rank")
    assert found.gain is not None
    assert (found.facts["rank"], found.facts["last"], found.facts["count"]) == ("3", 5, 5)
    assert found.facts["waiting_ns"] == found.facts["exposed_ns"] == 5 * 200_000
    assert found.facts["captured"] is False
    assert found.gain.ns == 5 * 200_000
    assert found.gain.on_all_ns is None  # the cure is another rank's


def test_one_late_arrival_or_little_waiting_is_no_late_rank() -> None:
    """60 of 2073 is 2.9 %, 70 of 2083 is 3.4 %."""
    assert not said(waiting_for(3, 200, steps=1).made, "late-rank")
    assert not said(waiting_for(3, 60, compute=2000).made, "late-rank")
    assert said(waiting_for(3, 70, compute=2000).made, "late-rank")


def test_the_own_rank_came_last() -> None:
    assert not said(waiting_for(3, 0).made, "late-rank")


def in_turns() -> Steps:
    made = Steps()
    for step in range(6):
        made.step(500, {peer: 100.0 if step % 3 == peer - 1 else 0.0 for peer in (1, 2, 3)})
    return made


def test_ranks_in_turns_are_an_imbalance() -> None:
    assert not said(in_turns().made, "late-rank")
    (found,) = loud(in_turns().made, "imbalance")
    assert found.gain is not None
    assert (found.facts["ranks"], found.facts["count"]) == ("1, 2, 3", 6)
    assert found.gain.ns == found.facts["waiting_ns"] == 6 * 100_000


def test_one_rank_behind_it_all_is_no_imbalance() -> None:
    assert not said(waiting_for(3, 200).made, "imbalance")


def test_exposed_transfers() -> None:
    """100 of 602.. a step; kernels of 500 have room for all of it."""
    (found,) = loud(transfers(100).made, "exposed-communication")
    assert found.gain is not None
    assert found.facts["exposed_ns"] == 5 * 100_000
    assert found.facts["overlap_share"] == 0
    assert found.gain.ns == pytest.approx(5 * 100_000, abs=5 * 500)
    assert found.gain.at_most


def test_short_transfers_and_longer_waiting_are_silent() -> None:
    assert not said(transfers(15).made, "exposed-communication")
    made = Steps()
    for _ in range(5):
        made.step(500, {1: 0, 2: 0, 3: 150}, transfer=100)
    assert not said(made.made, "exposed-communication")


def buckets(count: int, size: int, between: bool) -> Steps:
    """A kernel and `count` collectives of 40 us in each of three steps; `between`: a kernel before each of them."""
    made = Steps()
    for _ in range(3):
        made.kernel(300)
        for _ in range(count):
            if between:
                made.kernel(50)
            made.collective({1: 0, 2: 0, 3: 0}, transfer=40, size=size)
        made.mark()
    return made


def mixed(size: int, large: int) -> Steps:
    """Collectives of 40 us, every tenth of them with a large payload: the time is the same, so bytes cost little."""
    made = Steps()
    for _ in range(3):
        made.kernel(300)
        for number in range(30):
            made.collective({1: 0, 2: 0, 3: 0}, transfer=40, size=large if number == 9 else size)
        made.mark()
    return made


def test_frequent_collectives() -> None:
    """30 a step, 29 of 16 KiB and one of 1 MiB, all 40 us: all of it is fixed cost."""
    (found,) = loud(mixed(16 * KIB, MIB).made, "frequent-collectives")
    assert found.id == "frequent-collectives"
    assert (found.facts["count"], found.facts["per_step"]) == (90, 30)
    assert found.facts["fixed_ns"] == 90 * 40_000  # the large one takes no longer, so bytes cost nothing
    assert found.gain is not None and found.gain.ns <= found.facts["fixed_ns"]


def test_few_or_large_or_byte_bound_collectives_are_silent() -> None:
    assert not said(buckets(19, 16 * KIB, between=False).made, "frequent-collectives")
    assert not said(buckets(30, 2 * MIB, between=False).made, "frequent-collectives")
    assert not said(buckets(30, MIB - 1, between=False).made, "frequent-collectives")  # 26 GB/s: a link at work


def test_collectives_of_one_size_are_held_against_a_usual_link() -> None:
    """16 KiB at 20 GB/s are 819 ns of each 40 us."""
    (found,) = loud(buckets(30, 16 * KIB, between=False).made, "frequent-collectives")
    assert found.facts["fixed_ns"] == pytest.approx(90 * (40_000 - 819.2), abs=90)


def test_collectives_between_kernels_cannot_be_merged() -> None:
    made = Steps()
    for _ in range(3):
        for number in range(30):
            made.kernel(50)
            made.collective({1: 0, 2: 0, 3: 0}, transfer=40, size=MIB if number == 9 else 16 * KIB)
        made.mark()
    (found,) = said(made.made, "frequent-collectives")
    assert found.id == "frequent-collectives-layers"


def synced(waits: bool) -> Steps:
    """Three kernels of 100, each with a collective of 20; the host waits before and after each, and takes 60 to go on."""
    made = Steps()
    for _ in range(4):
        for _ in range(3):
            made.kernel(100)
            if waits:
                made.made.api("aclrtSynchronizeStream", made.host, made.now + 1, stream=1, blocking=1)
                made.host = made.now + 1
            made.collective({1: 0, 2: 0, 3: 0}, transfer=20)
            if waits:
                made.made.api("aclrtSynchronizeStream", made.host, made.now + 1, stream=1, blocking=1)
                made.host = made.now + 61
        made.mark()
    return made


def test_waits_around_collectives() -> None:
    (found,) = said(synced(True).made, "host-sync-around-collective")
    assert (found.facts["count"], found.facts["collectives"], found.facts["call"]) == (24, 12, "aclrtSynchronizeStream")
    assert found.facts["overlap_share"] == 0


def test_no_waits_around_collectives() -> None:
    assert not said(synced(False).made, "host-sync-around-collective")


def pipeline(waits: float) -> Steps:
    made = Steps()
    for _ in range(4):
        for _ in range(4):
            number = made.issue("HcclRecv")
            made.made.comm("op", "hcom_receive_", made.now, made.now + waits, op=number, correlation=number, stream=1)
            made.now += waits
            made.kernel(98)
        made.mark()
    return made


def test_a_pipeline_bubble() -> None:
    """Two stages and four micro-batches: 1/5 is bubble, with eight 1/9: of the waiting 4/9 go."""
    (found,) = loud(pipeline(50).made, "pipeline-bubble")
    assert found.gain is not None
    assert (found.facts["batches"], found.facts["stages"], found.facts["waiting_ns"]) == (4, 2, 16 * 50_000)
    assert (found.facts["bubble_share"], found.facts["doubled_share"]) == (1 / 5, 1 / 9)
    assert found.gain.ns == pytest.approx(16 * 50_000 * 4 / 9, rel=0.01)


def test_short_receives_and_no_pipeline_are_silent() -> None:
    assert not said(pipeline(5).made, "pipeline-bubble")
    assert not said(waiting_for(3, 200).made, "pipeline-bubble")


@pytest.mark.parametrize("rule", ALL)
@pytest.mark.parametrize("lags", [(0, 0, 0), (2, 0, 1), (0, 3, 0)])
def test_balanced_steps_are_silent(rule: str, lags: tuple[float, float, float]) -> None:
    made = Steps()
    for _ in range(8):
        made.step(900, dict(zip((1, 2, 3), lags, strict=True)), transfer=12, size=8 * MIB)
    assert not loud(made.made, rule)


def test_without_communication_nothing_is_said() -> None:
    made = Steps()
    for _ in range(8):
        made.kernel(100)
    for rule in ALL:
        assert not said(made.made, rule)
