"""Rules 20 (sums), 21, 22, 42: waits of the host. Times in us."""

from __future__ import annotations

import resource

import numpy as np
import pytest

from npu.cost import call_ns
from profiler.analysis import analyze
from profiler.analysis.context import Context
from profiler.analysis.edits import Narrow
from profiler.texts import claim
from tests.made import Made
from tests.unit.profiler.said import loud, said


def sums(*rows: tuple[str, int, int]) -> Made:
    """A statistic of calls without rows: (name, count, total us)."""
    made = Made()
    names, counts, totals = zip(*rows, strict=True)
    made.meta["tables"] = {
        "api_statistic": {
            "name": list(names),
            "level": ["acl"] * len(rows),
            "count": list(counts),
            "total": [t * 1000 for t in totals],
        }
    }
    return made


class TestDeviceWideSync:
    """A turn of 500: launch 5 with a kernel of 200 from 2 into it on stream 1; a copy of `other` from 10 on stream 2; a wait."""

    def turns(self, other: float = 250, count: int = 10, name: str = "aclrtSynchronizeDevice") -> Made:
        made = Made()
        for turn in range(count):
            start, number = turn * 500, 2 * turn
            made.api("aclmdlExecuteAsync", start, start + 5, stream=1, correlation=number, blocking=0)
            made.task("kernel", start + 2, start + 202, correlation=number, model=1)
            facts = {"correlation": number + 1, "bytes": 4 << 20, "direction": "d2h", "host_kind": "pinned"}
            made.api("aclrtMemcpyAsync", start + 6, start + 9, stream=2, blocking=0, **facts)
            made.task("copy", start + 10, start + 10 + other, stream=2, **facts)
            until = max(start + 202, start + 10 + other)
            made.api(name, start + 10, until, blocking=1, site="loop.py:9")
        return made

    def test_positive(self) -> None:
        """Each of the nine waits before another launch ends with its own kernel at 202 instead of the copy at 260."""
        (finding,) = loud(self.turns(), "device-wide-sync")
        assert finding.gain is not None
        assert (finding.gain.ns, finding.gain.method, finding.severity) == (9 * 58_000, "replay", "critical")
        assert (finding.facts["count"], finding.facts["waited_ns"]) == (9, 9 * 250_000)
        assert finding.facts["ranking"] == "aclrtSynchronizeDevice 10 x 250 us = 2.50 ms"
        assert finding.sites == ("loop.py:9",)

    def test_near_miss_the_other_stream_is_done_first(self) -> None:
        assert loud(self.turns(other=100), "device-wide-sync") == []

    def test_any_number_may_be_a_thread(self) -> None:
        """Found by damaging captures: a table with a place for every number up to the largest took 16 GB."""
        made = self.turns()
        made.api("aclrtGetDevice", 0, 1, thread=2**31 - 1)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        (finding,) = loud(made, "device-wide-sync")
        assert finding.facts["count"] == 9
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1 << 18  # KiB

    def test_near_miss_twice(self) -> None:
        assert said(self.turns(count=3), "device-wide-sync") == []

    def test_clean_waits_for_the_stream(self) -> None:
        assert said(self.turns(name="aclrtSynchronizeStream"), "device-wide-sync") == []

    def test_sums_give_a_bound_against_the_waits_for_a_stream(self) -> None:
        """1000 calls of 390 where one for a stream takes 230: 160 ms; the sum of all is 700 ms."""
        made = sums(("aclrtSynchronizeDevice", 1000, 390_000), ("aclrtSynchronizeStream", 10, 2300), ("launch", 40_000, 307_700))
        (finding,) = said(made, "device-wide-sync")
        assert finding.gain is not None
        assert (finding.gain.ns, finding.gain.at_most, finding.gain.method) == (160_000_000, True, "bound")
        assert str(finding.facts["ranking"]).startswith(
            "aclrtSynchronizeDevice 1000 x 390 us = 390 ms, aclrtSynchronizeStream 10"
        )

    def test_sums_near_misses(self) -> None:
        assert said(sums(("aclrtSynchronizeDevice", 2, 390_000), ("launch", 40_000, 1)), "device-wide-sync") == []
        assert said(sums(("aclrtSynchronizeDevice", 10, 2), ("launch", 40_000, 100)), "device-wide-sync") == []


class TestSyncSums:
    def test_as_many_waits_as_executions(self) -> None:
        made = sums(("aclrtSynchronizeStream", 500, 90_000), ("aclmdlExecuteAsync", 500, 15_000))
        (finding,) = analyze(made.trace()).findings
        assert finding.gain is not None
        assert (finding.id, finding.gain.ns, finding.gain.at_most) == ("sync-every-submit-sums", 90_000_000, True)

    def test_near_misses(self) -> None:
        few = sums(("aclrtSynchronizeStream", 200, 90_000), ("aclmdlExecuteAsync", 500, 15_000))
        unknown = sums(("aclrtSynchronizeStream", 500, 90_000), ("launch", 500, 15_000))
        assert said(few, "sync-every-submit") == said(unknown, "sync-every-submit") == []


class TestSumsOfOtherCalls:
    def test_events_made_for_every_operator(self) -> None:
        made = sums(("aclrtCreateEvent", 2000, 52_000), ("aclrtDestroyEvent", 2000, 21_000), ("launch", 2000, 16_000))
        (finding,) = analyze(made.trace()).findings
        assert finding.gain is not None
        assert (finding.id, finding.facts["count"], finding.gain.ns) == ("create-destroy-sums", 4000, 73_000_000)

    def test_calls_of_collectives(self) -> None:
        (finding,) = analyze(sums(("HcclAllReduce", 129, 62_000), ("launch", 2000, 16_000)).trace()).findings
        assert finding.gain is not None
        assert (finding.id, finding.facts["count"], finding.gain.ns) == ("frequent-collectives-sums", 129, 62_000_000)

    def test_near_misses(self) -> None:
        """99 calls; a tenth of the host's time is 5.2 of 52."""
        for name, rule in (("aclrtCreateEvent", "create-destroy-in-loop"), ("HcclAllReduce", "frequent-collectives")):
            assert said(sums((name, 99, 52_000), ("launch", 2000, 16_000)), rule) == []
            assert said(sums((name, 500, 5_000), ("launch", 2000, 47_000)), rule) == []

    def test_compiles_without_a_time_line_claim_nothing_of_steps(self) -> None:
        (finding,) = analyze(sums(("aclopCompileAndExecute", 270, 8_100_000), ("launch", 2000, 16_000)).trace()).findings
        assert finding.id == "online-compile" and "judged steps" not in claim(finding)
        assert "step" in claim(finding, "zh")


class TestImplicitSync:
    """A turn of 330: launch 5, kernel 200 from 2 into it, copy to the host after it (12), 100 of own code, then the next."""

    def turns(self, size: int = 4, count: int = 10, every: int = 1, marker: str = "", wait: bool = True) -> Made:
        made = Made()
        for turn in range(count):
            start, number = turn * 330, 2 * turn
            made.api("aclmdlExecuteAsync", start, start + 5, stream=1, correlation=number, blocking=0)
            made.task("kernel", start + 2, start + 202, correlation=number, model=1)
            if marker:
                made.marker("cpu_op", marker, start + 6, start + 225)
            if turn % every == 0:
                made.api("aclrtSynchronizeStream", start + 7, start + 204, stream=1, blocking=1) if wait else None
                facts = {"correlation": number + 1, "bytes": size, "direction": "d2h", "host_kind": "pinned"}
                made.api("aclrtMemcpy", start + 205, start + 218, blocking=1, site="loop.py:5", **facts)
                made.task("copy", start + 206, start + 218, stream=9, **facts)
        return made

    def test_positive(self) -> None:
        """Neither the copies nor the waits before them hold the host. The host's turn shrinks from 330 to 330 - 197 - 13 + 4.2,
        less than the kernels need: these follow each other after 200 and the usual gap of 2."""
        (finding,) = loud(self.turns(), "implicit-sync")
        assert finding.gain is not None
        assert finding.facts["count"] == 9  # after the last one nothing is launched
        assert finding.facts["waited_ns"] == 9 * (197_000 + 13_000)
        assert (finding.gain.confidence, finding.sites) == ("high", ("loop.py:5",))
        assert 330_000 - 197_000 - 13_000 + call_ns("aclrtMemcpyAsync") < 202_000
        assert finding.gain.ns == 9 * (330_000 - 202_000)

    def test_near_miss_65_bytes_are_a_result(self) -> None:
        assert len(said(self.turns(size=64), "implicit-sync")) == 1
        assert said(self.turns(size=65), "implicit-sync") == []

    def test_near_miss_logging_every_fifty_steps(self) -> None:
        assert said(self.turns(count=200, every=50), "implicit-sync") == []

    def test_waits_inside_an_operator_that_needs_a_value(self) -> None:
        (finding,) = said(self.turns(size=4000, marker="aten::nonzero"), "implicit-sync")
        assert (finding.facts["operators"], finding.facts["count"]) == ("aten::nonzero", 18)
        assert said(self.turns(size=4000, marker="aten::relu"), "implicit-sync") == []

    def sized(self, op: str, count: int = 10, launch: bool = False) -> Made:
        """A turn of 330 without framework operators: launch 5, kernel of 200, the wait for it, 100 of own code."""
        made = Made()
        for turn in range(count):
            start = turn * 330
            made.api("launch", start, start + 5, level="node", correlation=2 * turn, blocking=0)
            made.task("kernel", start + 2, start + 202, correlation=2 * turn, op_type=op)
            if launch:
                made.api("launch", start + 5, start + 6, level="node", correlation=2 * turn + 1, blocking=0)
                made.task("kernel", start + 203, start + 204, correlation=2 * turn + 1, op_type="Relu")
            made.api("aclrtSynchronizeStream", start + 7, start + 204, stream=1, blocking=1)
        return made

    def test_the_wait_for_a_result_whose_size_only_the_device_knows(self) -> None:
        """The last of ten is followed by no launch. Without its 197 a turn takes 133 on the host; the kernel and its gap 202."""
        (finding,) = loud(self.sized("NonZero"), "implicit-sync")
        assert finding.gain is not None
        assert (finding.facts["count"], finding.facts["operators"], finding.facts["waited_ns"]) == (9, "NonZero", 9 * 197_000)
        assert (finding.gain.ns, finding.gain.confidence) == (9 * 128_000, "medium")

    def test_near_miss_other_kernels_and_a_launch_before_the_wait(self) -> None:
        assert said(self.sized("MatMulV3"), "implicit-sync") == []
        assert said(self.sized("NonZero", launch=True), "implicit-sync") == []

    def test_clean_no_copies(self) -> None:
        made = self.turns()
        made.rows["api"] = [r for r in made.rows["api"] if r["name"] != "aclrtMemcpy"]
        assert said(made, "implicit-sync") == []


class TestSyncMemset:
    """A turn: a fill of 50 on the device held by its call for 60, a launch of 5 with a kernel of 100 from 2 into it."""

    def turns(self, blocking: bool = True, size: int = 1 << 20, count: int = 10, beside: bool = False) -> Made:
        made = Made()
        now = busy = 0.0
        for turn in range(count):
            facts = {"correlation": 2 * turn, "bytes": size}
            length = 60 if blocking else 4
            made.api("aclrtMemset" if blocking else "aclrtMemsetAsync", now, now + length, blocking=int(blocking), **facts)
            begun = now + 1 if blocking or beside else max(now + 1, busy)
            made.task("memset", begun, begun + 50, stream=9 if blocking or beside else 1, **facts)
            busy, now = busy if beside else begun + 50, now + length
            made.api("aclmdlExecuteAsync", now, now + 5, stream=1, correlation=2 * turn + 1, blocking=0)
            begun = max(now + 2, busy)
            made.task("kernel", begun, begun + 100, correlation=2 * turn + 1, model=1)
            busy, now = begun + 100, now + 5
            if blocking:
                made.api("aclrtSynchronizeStream", now, busy, stream=1, blocking=1)
                now = busy
        return made

    def test_positive(self) -> None:
        """Nine lie in the window, which begins with the first execution. Before: kernel at 62; after: at the fill's end, 51."""
        (finding,) = loud(self.turns(), "sync-memset")
        assert finding.gain is not None
        assert (finding.facts["blocking"], finding.facts["blocked_ns"], finding.gain.at_most) == (9, 540_000, False)
        assert finding.gain.ns == pytest.approx(9 * 11_000, rel=0.02)

    def test_large_asynchronous_fills_on_the_path_are_a_bound(self) -> None:
        (finding,) = loud(self.turns(blocking=False), "sync-memset")
        assert finding.gain is not None
        assert (finding.facts["large"], finding.gain.at_most) == (9, True)
        assert finding.gain.ns == pytest.approx(9 * 50_000, rel=0.02)

    def test_near_miss_small_asynchronous_fills(self) -> None:
        assert said(self.turns(blocking=False, size=4096), "sync-memset") == []

    def test_near_miss_twice(self) -> None:
        assert said(self.turns(count=2), "sync-memset") == []

    def test_clean_fills_beside_other_work(self) -> None:
        assert said(self.turns(blocking=False, beside=True), "sync-memset") == []


def test_a_narrowed_wait_ends_with_the_last_own_task_on_the_stream_of_the_last_kernel() -> None:
    made = TestDeviceWideSync().turns(count=4)
    context = Context(made.trace())
    rows = np.flatnonzero(context.trace.api_named("aclrtSynchronizeDevice"))
    times = context.replay.times([Narrow(rows)])
    ends = times[context.graph.chains.call_end[rows]] - times[context.graph.chains.call_start[rows]]
    assert ends.tolist() == [192_000] * 4
