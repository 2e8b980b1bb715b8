"""Rules on how fast data moves between ranks, on hand-made steps; each near miss lies just below the threshold. Times in us."""

from __future__ import annotations

from pathlib import Path

import pytest

from npu.units import MIB
from profiler.analysis.bench import Reference, expected
from profiler.read.bench import read
from profiler.texts import claim
from profiler.trace import Unreadable
from tests.made import Made
from tests.unit.profiler.exchange import TRANSFER, Steps, transfers, waiting_for
from tests.unit.profiler.said import loud, said


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


BENCH = "data_size(Bytes): | aveg_time(us): | alg_bandwidth(GB/s): | check_result:\n1048576 | 20.00 | 52.4 | success\n8388608 | {} | 1 | NULL\n"


def measured(tmp_path: Path, largest: float) -> Reference:
    (tmp_path / "bench.txt").write_text(BENCH.format(largest))
    return read(tmp_path / "bench.txt")


def test_a_benchmark_says_what_all_of_them_could_reach(tmp_path: Path) -> None:
    """All twelve take 300, as fast as any seen here. hccl_test took 20 for 1 MiB and 160 for 8: 20 + 140 * 3 / 7 = 80 for 4 MiB."""
    made = Steps()
    for _ in range(12):
        made.kernel(200)
        made.collective({1: 0, 2: 0, 3: 0}, transfer=300, name="hcom_broadcast_")
    assert not said(made.made, "collective-below-model")
    made.made.meta["bench"] = {"broadcast": measured(tmp_path, 160)}
    (found,) = loud(made.made, "collective-below-model")
    assert found.gain is not None
    assert (found.facts["count"], found.facts["formula_ns"], found.facts["took_ns"]) == (12, 12 * 80_000, 12 * 300_000)
    assert (found.gain.ns, found.gain.confidence) == (12 * 220_000, "medium")
    assert "hccl_test took 960 us" in claim(found)
    made.made.meta["bench"] = {"allreduce": measured(tmp_path, 160)}  # of another operation
    assert not said(made.made, "collective-below-model")


def test_collectives_as_fast_as_the_benchmark_are_silent(tmp_path: Path) -> None:
    """6 of 12 take three times as long as the others here, but so did they in the benchmark."""
    made = below(3)
    made.made.meta["bench"] = {"broadcast": measured(tmp_path, 680)}
    assert not said(made.made, "collective-below-model")


def test_sizes_a_benchmark_did_not_measure() -> None:
    table = ((1024, 10_000), (4096, 20_000), (8192, 30_000))
    assert [expected(table, n) for n in (1, 1024, 2560, 8192, 16384)] == [10_000, 10_000, 15_000, 30_000, 60_000]


@pytest.mark.parametrize("text", ["", "no table here", "0 | 0.00 | 0 | success"])
def test_a_file_without_a_table_is_no_benchmark(tmp_path: Path, text: str) -> None:
    (tmp_path / "bench.txt").write_text(text)
    with pytest.raises(Unreadable, match="no table"):
        read(tmp_path / "bench.txt")


def test_collectives_without_parts_have_no_reference() -> None:
    made = Steps()
    for number in range(6):
        made.kernel(200)
        made.made.comm("op", "hcom_broadcast_", made.now, made.now + 500, bytes=4 * MIB, op=number, stream=1)
        made.now += 500
    assert not said(made.made, "collective-below-model")


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
