"""Rules 35, 36, 39. A turn: copy, launch of 5, kernel from 2 into the launch, in us."""

from __future__ import annotations

import pytest

from npu import soc
from npu.cost import call_ns, copy_ns
from tests.made import Made
from tests.unit.profiler.said import loud, said

CHIP = soc.find(soc.DEFAULT)


def turns(
    count: int = 10,
    copy: float = 200,
    kernel: float = 300,
    direction: str = "h2d",
    blocking: int = 1,
    kind: str = "pinned",
    pieces: int = 1,
    size: int = 4 << 20,
    sync: bool = True,
    read_gap: float = 1,
) -> Made:
    """pieces copies one after the other, each copy us on the device and 2 more on the host."""
    made = Made()
    now, busy, correlation = 0.0, 0.0, 0
    for _ in range(count):
        for _ in range(pieces):
            correlation += 1
            facts = {"correlation": correlation, "bytes": size, "direction": direction, "host_kind": kind}
            name = "aclrtMemcpy" if blocking else "aclrtMemcpyAsync"
            made.api(name, now, now + (copy + 2 if blocking else 3), blocking=blocking, stream=-1, site="loop.py:2", **facts)
            begun = max(now + 1, busy if not blocking else 0)
            made.task("copy", begun, begun + copy, stream=9, **facts)
            busy = begun + copy
            now += copy + 2 if blocking else 3
        now += read_gap
        correlation += 1
        made.api("aclmdlExecuteAsync", now, now + 5, stream=1, correlation=correlation, blocking=0)
        begun = max(now + 2, busy)
        made.task("kernel", begun, begun + kernel, correlation=correlation, model=1)
        busy = begun + kernel
        if sync:
            made.api("aclrtSynchronizeStream", now + 5, busy, stream=1, blocking=1)
            now = busy
        else:
            now += 5
    return made


class TestBlockingCopy:
    def test_positive(self) -> None:
        """The launch comes right behind the call, and its kernel waits for the copy: what the host did after it is won."""
        made = turns(read_gap=80)
        (finding,) = loud(made, "blocking-copy")
        assert finding.facts["count"] == 10
        assert finding.facts["blocked_ns"] == 10 * 202_000
        assert finding.gain is not None
        # before: kernel at 202 + 80 + 2 after the copy call began; after: when the copy is there, at 201
        assert finding.gain.ns == pytest.approx(10 * 83_000, rel=0.01)
        assert (finding.gain.method, finding.gain.confidence) == ("replay", "high")

    def test_pageable_memory_is_pinned_and_the_gain_modelled(self) -> None:
        (finding,) = said(turns(read_gap=80, kind="pageable"), "blocking-copy")
        assert finding.gain is not None
        assert (finding.facts["pageable"], finding.gain.method, finding.gain.confidence) == (10, "model", "medium")

    def test_near_miss_small_copies(self) -> None:
        assert said(turns(size=4096), "blocking-copy") == []

    def test_near_miss_asynchronous_copies(self) -> None:
        assert said(turns(blocking=0), "blocking-copy") == []

    def test_near_miss_the_host_reads_what_it_copied_back(self) -> None:
        assert said(turns(direction="d2h", read_gap=80), "blocking-copy") == []
        assert len(said(turns(direction="d2h", read_gap=1), "blocking-copy")) == 1

    def test_near_miss_twice_is_no_habit(self) -> None:
        assert said(turns(count=2), "blocking-copy") == []


class TestCopyExposed:
    def test_positive(self) -> None:
        """Nine of ten copies hide behind the kernel before them; of each 204 the call and the lead to the kernel (1 + 2) stay."""
        (finding,) = loud(turns(), "copy-exposed")
        assert (finding.facts["count"], finding.facts["exposed_ns"], finding.facts["hidden_share"]) == (9, 9 * 200_000, 0.0)
        assert finding.gain is not None
        assert finding.gain.ns == pytest.approx(9 * (202_000 - call_ns("aclrtMemcpyAsync")), rel=0.01)
        assert finding.severity == "critical"

    def test_copies_longer_than_the_kernels_gain_only_the_kernels(self) -> None:
        (finding,) = loud(turns(copy=900), "copy-exposed")
        assert finding.gain is not None
        assert finding.gain.ns == pytest.approx(9 * 300_000, rel=0.05)

    def test_near_miss_less_than_three_percent(self) -> None:
        assert said(turns(copy=10, kernel=500), "copy-exposed") == []

    def test_near_miss_results_copied_back_are_not_the_next_input(self) -> None:
        assert said(turns(direction="d2h"), "copy-exposed") == []

    def test_near_miss_all_copies_before_the_only_launch(self) -> None:
        assert said(turns(count=1, pieces=10), "copy-exposed") == []

    def test_clean_copies_beside_kernels(self) -> None:
        made = turns()
        made.task("kernel", 0, 6000, stream=4)
        assert said(made, "copy-exposed") == []


class TestSmallCopies:
    def test_positive(self) -> None:
        """Ten copies of 1 KiB, 12 each, become one of 10 KiB: 120 measured, scaled by the model; nine times 2 on the host go."""
        made = turns(pieces=10, size=1024, copy=12)
        (finding,) = loud(made, "small-copies")
        one, ten = (copy_ns(n, "h2d", "pinned", CHIP) for n in (1024, 10240))
        merged = 120_000 * (ten.latency_ns + 10240 / ten.bytes_per_ns) / (10 * (one.latency_ns + 1024 / one.bytes_per_ns))
        assert finding.facts["per_step"] == 10
        assert finding.facts["fixed_ns"] == 100 * one.latency_ns
        assert finding.gain is not None
        assert finding.gain.ns == pytest.approx(10 * (9 * 14_000 - (merged - 12_000)), rel=0.01)

    def test_near_miss_seven_a_step(self) -> None:
        assert said(turns(pieces=7, size=1024, copy=12), "small-copies") == []

    def test_near_miss_64_kib_each(self) -> None:
        assert said(turns(pieces=10, size=65536, copy=12), "small-copies") == []

    def test_near_miss_a_launch_between_any_two(self) -> None:
        assert said(turns(count=100, pieces=1, size=1024, copy=12.0), "small-copies") == []

    def test_clean_when_they_overlap_computation(self) -> None:
        made = turns(count=10, pieces=10, size=1024, copy=12.0, blocking=0, sync=False)
        assert loud(made, "small-copies") == []
