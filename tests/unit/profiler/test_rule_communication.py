"""Rules 58 to 70 on hand-made steps; each near miss lies just below the rule's threshold. Times in us."""

from __future__ import annotations

import pytest

from npu.units import KIB, MIB
from tests.made import Made
from tests.unit.profiler.exchange import TRANSFER, Steps
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


def waiting_for(peer: int, lag: float, steps: int = 5, compute: float = 500) -> Steps:
    made = Steps()
    for _ in range(steps):
        made.step(compute, {1: 0, 2: 0, 3: 0} | {peer: lag})
    return made


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


def transfers(length: float) -> Steps:
    made = Steps()
    for _ in range(5):
        made.step(500, {1: 0, 2: 0, 3: 0}, transfer=length)
    return made


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


def linked(slow: float, steps: int = 4) -> Steps:
    made = Steps()
    for _ in range(steps):
        made.kernel(500)
        made.collective({1: 0, 2: 0, 3: 0}, transfer=200, speed={2: slow})
    return made


def test_a_slow_link() -> None:
    """The transfer to rank 2 takes 400 and not 200: each collective would be 200 shorter. 4 MiB in 400 us = 10.5 GB/s."""
    (found,) = loud(linked(2).made, "slow-link")
    assert found.gain is not None
    assert (found.facts["src"], found.facts["dst"], found.facts["transfers"]) == ("0", "2", 4)
    assert found.facts["speed_share"] == pytest.approx(0.5)
    assert found.facts["gbps"] == pytest.approx(4 * MIB / 400_000)
    assert found.gain.ns == pytest.approx(4 * 200_000, abs=10)


def test_a_link_slower_by_a_quarter_or_seen_twice_is_none() -> None:
    assert not said(linked(1.4).made, "slow-link")
    assert not said(linked(2, steps=2).made, "slow-link")
    assert not said(waiting_for(3, 400).made, "slow-link")  # a late peer is no slow link


def test_a_slow_link_from_sums() -> None:
    """Three links at 10 GB/s and one at 5, four operators of 10 MB each: half of 8 ms is lost."""
    made = Steps()
    pairs = [(0, peer, 1_000_000 if peer != 2 else 2_000_000) for peer in (1, 2, 3, 4)] * 4
    table = {
        "src": [p[0] for p in pairs],
        "dst": [p[1] for p in pairs],
        "transport": ["HCCS"] * 16,
        "bytes": [10_000_000] * 16,
        "time": [p[2] for p in pairs],
    }
    made.made.meta["tables"] = {"communication_matrix": table}
    (found,) = said(made.made, "slow-link")
    assert found.gain is not None
    assert (found.facts["dst"], found.gain.ns, found.gain.method) == ("2", 4_000_000, "bound")


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
    """30 a step, 29 of 16 KiB and one of 1 MiB, all 40 us: the small ones are fixed cost but for 16/1024 of it."""
    (found,) = loud(mixed(16 * KIB, MIB).made, "frequent-collectives")
    assert found.id == "frequent-collectives"
    assert (found.facts["count"], found.facts["per_step"]) == (90, 30)
    assert found.facts["fixed_ns"] == pytest.approx(87 * 40_000 * (1 - 16 / 1024), rel=0.02)
    assert found.gain is not None and found.gain.ns <= found.facts["fixed_ns"]


def test_few_or_large_or_byte_bound_collectives_are_silent() -> None:
    assert not said(buckets(19, 16 * KIB, between=False).made, "frequent-collectives")
    assert not said(buckets(30, 2 * MIB, between=False).made, "frequent-collectives")
    assert not said(buckets(30, 16 * KIB, between=False).made, "frequent-collectives")  # alike: nothing tells a fixed cost


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


def packets(small: float, size: int = MIB) -> Steps:
    """Per collective one transfer of 32 MiB in 1000 and, to each of two others, one small packet of `small`."""
    made = Steps()
    for _ in range(3):
        made.kernel(500)
        made.collective({1: 0}, transfer=1000, size=32 * MIB)
        for _ in range(6):
            made.collective({2: 0}, transfer=small, size=size)
        made.mark()
    return made


def test_small_packets() -> None:
    """1 MiB at the speed of 32 MiB in 1000 takes 31.25: packets of 100 lose 68.75 each, 18 of them."""
    (found,) = loud(packets(100).made, "small-packets")
    assert found.gain is not None
    assert (found.facts["count"], found.facts["packet_ns"], found.facts["transport"]) == (18, 18 * 100_000, "SDMA")
    assert found.gain.ns == pytest.approx(18 * 68_750, rel=0.01)


def test_packets_near_the_speed_of_large_ones_or_without_a_reference_are_silent() -> None:
    assert not said(packets(60).made, "small-packets")
    made = Steps()
    for _ in range(4):
        made.step(500, {1: 0}, transfer=100, size=MIB)
    assert not said(made.made, "small-packets")


def contended(beside: float) -> Steps:
    """Twelve kernels of 100 alone, then six of `beside` under transfers on another stream that cover them."""
    made = Steps()
    for _ in range(12):
        made.kernel(100)
    for _ in range(6):
        begin = made.now
        made.kernel(beside)
        made.ops += 1
        own = {"rank": 0, "op": made.ops, "stream": 2, "transport": "SDMA", "link": "HCCS"}
        made.made.comm("op", "hcom_allReduce_", begin, made.now, **own)
        made.made.comm("part", "", begin, made.now, part=TRANSFER, src=0, dst=1, bytes=MIB, **own)
    return made


def test_contention_between_kernels_and_transfers() -> None:
    """Beside transfers 250 and not 100: 900 more than alone, while 6 x 250 are hidden."""
    (found,) = said(contended(250).made, "comm-compute-contention")
    assert (found.facts["count"], found.facts["excess_ns"], found.facts["hidden_ns"]) == (6, 900_000, 1_500_000)
    assert found.facts["slower"] == 2.5


def test_overlap_that_still_pays_is_silent() -> None:
    assert not said(contended(150).made, "comm-compute-contention")
    assert not said(contended(110).made, "comm-compute-contention")


def below(factor: float) -> Steps:
    """Broadcasts of 4 MiB to three peers, 100 each; every other one takes `factor` times as long on all links."""
    made = Steps()
    for number in range(12):
        made.kernel(200)
        made.collective({1: 0, 2: 0, 3: 0}, transfer=100 * (factor if number % 2 == 0 else 1), name="hcom_broadcast_")
    return made


def test_collectives_below_their_model() -> None:
    """The best speed seen is 4 MiB in 100; each pair moves 4 MiB, so six collectives of 300 could take 100."""
    (found,) = loud(below(3).made, "collective-below-model")
    assert found.gain is not None
    assert (found.facts["name"], found.facts["count"]) == ("hcom_broadcast", 6)
    assert (found.facts["took_ns"], found.facts["formula_ns"]) == pytest.approx((6 * 300_000, 6 * 100_000), abs=10)
    assert found.gain.ns == pytest.approx(6 * 200_000, abs=10)


def test_collectives_at_two_thirds_of_their_model_are_silent() -> None:
    assert not said(below(1.5).made, "collective-below-model")


def test_collectives_without_parts_have_no_reference() -> None:
    made = Steps()
    for number in range(6):
        made.kernel(200)
        made.made.comm("op", "hcom_broadcast_", made.now, made.now + 500, bytes=4 * MIB, op=number, stream=1)
        made.now += 500
    assert not said(made.made, "collective-below-model")


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


def staged(every: int) -> Steps:
    made = Steps()
    for number in range(12):
        made.kernel(100)
        made.collective({1: 0, 2: 0, 3: 0}, transfer=80, local=20 if number % every == 0 else 0)
    return made


def test_staging_copies() -> None:
    (found,) = loud(staged(2).made, "staging-copy")
    assert found.gain is not None
    assert (found.facts["count"], found.facts["of"], found.facts["copy_ns"]) == (6, 12, 6 * 20_000)
    assert found.gain.ns == 6 * 20_000


def test_copies_that_all_have_belong_to_the_algorithm() -> None:
    assert not said(staged(1).made, "staging-copy")


def repeated(seconds: float, at: int = 3, transport: str = "RDMA") -> Steps:
    made = Steps()
    for number in range(6):
        made.kernel(100)
        made.collective({1: 0}, transfer=seconds * 1e6 if number == at else 1000, transport=transport)
    return made


def test_retransmission() -> None:
    (found,) = loud(repeated(4.3).made, "retransmission")
    assert found.gain is not None
    assert (found.facts["count"], found.facts["longest_ns"], found.facts["usual_ns"]) == (1, 4_300_000_000, 1_000_000)
    assert found.gain.ns == 4_299_000_000


def test_first_connections_short_transfers_and_other_links_are_silent() -> None:
    assert not said(repeated(4.3, at=0).made, "retransmission")
    assert not said(repeated(0.9).made, "retransmission")
    assert not said(repeated(4.3, transport="SDMA").made, "retransmission")


def rdma(*seconds: float, transport: str = "RDMA") -> Made:
    made = Made()
    names = [f"hcom_allReduce__9_{n}_1" for n in range(len(seconds))]
    made.meta["tables"] = {
        "communication_bandwidth": {
            "name": names, "transport": [transport] * len(names), "time": [round(s * 1e9) for s in seconds], "bytes": [MIB] * len(names),
        }
    }  # fmt: skip
    return made


def test_sums_of_transfers_over_rdma() -> None:
    """Four seconds of one collective are a packet that was lost; the others take 2 ms."""
    (found,) = loud(rdma(0.002, 4.1, 0.002), "retransmission")
    assert (found.id, found.facts["count"], found.facts["name"]) == ("retransmission-sums", 1, "hcom_allReduce")
    assert found.gain is not None and (found.gain.ns, found.gain.at_most) == (4_098_000_000, True)


def test_sums_below_four_seconds_other_links_and_the_first_collective_are_silent() -> None:
    assert not said(rdma(0.002, 3.9, 0.002), "retransmission")
    assert not said(rdma(0.002, 4.1, 0.002, transport="HCCS"), "retransmission")
    assert not said(rdma(4.1, 0.002, 0.002), "retransmission")


def test_counters_of_the_port() -> None:
    made = transfers(15)
    made.made.counter("RoCE Rx error packets", 100, 3)
    (found,) = said(made.made, "retransmission")
    assert (found.id, found.facts["value"], found.gain) == ("retransmission-counted", 3.0, None)


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
