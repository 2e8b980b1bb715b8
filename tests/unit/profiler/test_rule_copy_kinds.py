"""Rules 34, 37, 38, 40 and 41. Times in us."""

from __future__ import annotations

import pytest

from npu import soc
from npu.cost import call_ns, copy_ns
from tests.made import Made
from tests.unit.profiler.said import loud, said
from tests.unit.profiler.test_rule_copies import turns

CHIP = soc.find(soc.DEFAULT)
MIB = 1 << 20


class TestPageableCopy:
    def test_positive_blocking_calls(self) -> None:
        """A turn: the call of 202, 80 of own code, the kernel 2 later. Pinned copies take 200 scaled by the model; the call costs
        what an asynchronous one does, and the kernel waits for the copy: it begins when the later of both is there."""
        (finding,) = loud(turns(read_gap=80, kind="pageable"), "pageable-copy")
        assert finding.gain is not None
        slow, quick = (copy_ns(4 * MIB, "h2d", kind, CHIP) for kind in ("pageable", "pinned"))
        pinned = (
            200_000 * (quick.latency_ns + quick.size / quick.bytes_per_ns) / (slow.latency_ns + slow.size / slow.bytes_per_ns)
        )
        after = max(1_000 + pinned, call_ns("aclrtMemcpyAsync") + 80_000 + 2_000)
        assert finding.gain.ns == pytest.approx(10 * (284_000 - after), rel=0.01)
        assert (finding.facts["directions"], finding.facts["count"], finding.facts["waiting"]) == ("H2D", 10, 10)
        assert (finding.gain.method, finding.gain.confidence) == ("model", "medium")

    def test_asynchronous_calls_that_end_after_their_task_give_themselves_away(self) -> None:
        made = turns(kind="pageable")
        for row in (*made.rows["api"], *made.rows["task"]):
            row["host_kind"] = -1
            if row.get("name") == "aclrtMemcpy":
                row |= {"name": "aclrtMemcpyAsync", "blocking": -1}
        (finding,) = said(made, "pageable-copy")
        assert finding.facts["call"] == "aclrtMemcpyAsync"

    def test_calls_without_tasks_give_a_bound(self) -> None:
        made = Made()
        for number in range(30):
            facts = {"bytes": 4096, "direction": "h2d", "host_kind": "pageable"}
            made.api("aclrtMemcpy", number * 200, number * 200 + 130, **facts)
            made.task("copy", number * 200 + 115, number * 200 + 119)
        (finding,) = said(made, "pageable-copy")
        assert finding.gain is not None
        inside = 29  # the window is the span of device work: it begins within the first call
        assert (finding.gain.ns, finding.gain.at_most) == (inside * (130_000 - call_ns("aclrtMemcpyAsync")), True)

    def test_near_miss_twice(self) -> None:
        assert said(turns(count=2, kind="pageable"), "pageable-copy") == []

    def test_near_miss_unknown_memory_and_calls_that_return_early(self) -> None:
        made = turns(blocking=0)
        for row in (*made.rows["api"], *made.rows["task"]):
            row["host_kind"] = -1
        assert said(made, "pageable-copy") == []

    def test_clean_pinned(self) -> None:
        assert said(turns(), "pageable-copy") == []


WEIGHT = 64 * 64 * 9 * 2  # bytes of 64,64,3,3 as float16


def upload(size: int = WEIGHT, count: int = 10, every: int = 1, op: str = "Conv2D", shapes: str = "1,64,56,56;64,64,3,3") -> Made:
    """A turn of 250: the copy of 20, a launch of 5 that waits for nothing, its kernel of 200 behind the copy on the stream."""
    made = Made()
    for turn in range(count):
        now = turn * 250.0
        if turn % every == 0:
            facts = {"correlation": 2 * turn, "bytes": size, "direction": "h2d", "host_kind": "pinned"}
            made.api("aclrtMemcpyAsync", now, now + 4, stream=1, blocking=0, site="loop.py:2", **facts)
            made.task("copy", now + 1, now + 41, **facts)
        made.api("aclmdlExecuteAsync", now + 4, now + 9, stream=1, correlation=2 * turn + 1, blocking=0)
        facts = {"op_type": op, "in_shapes": shapes, "in_dtypes": "FLOAT16;FLOAT16"}
        made.task("kernel", now + 42, now + 242, correlation=2 * turn + 1, model=1, **facts)
        made.api("aclrtSynchronizeStream", now + 9, now + 242, stream=1, blocking=1)
    return made


class TestRepeatedUpload:
    def test_positive(self) -> None:
        """Without the copy and its call of 4 the kernel begins 2 into the launch: at 2 instead of 42."""
        (finding,) = loud(upload(), "repeated-upload")
        assert finding.gain is not None
        assert (finding.facts["count"], finding.facts["operands"]) == (10, "Conv2D 64x64x3x3")
        assert finding.gain.ns == pytest.approx(10 * 40_000, rel=0.1)
        assert finding.sites == ("loop.py:2",)

    def test_tables_stand_first(self) -> None:
        made = upload(size=1000 * 64 * 2, op="GatherV2", shapes="1000,64;16")
        assert len(said(made, "repeated-upload")) == 1

    def test_near_miss_the_size_of_the_data(self) -> None:
        assert said(upload(size=56 * 56 * 64 * 2), "repeated-upload") == []

    def test_near_miss_weights_as_large_as_the_data(self) -> None:
        assert said(upload(shapes="64,64,3,3;64,64,3,3"), "repeated-upload") == []

    def test_near_miss_every_third_step(self) -> None:
        assert said(upload(count=12, every=3), "repeated-upload") == []

    def test_clean_other_operators(self) -> None:
        assert said(upload(op="Add"), "repeated-upload") == []


def there_and_back(count: int = 10, back: int = 4096, apart: float = 50, launch: bool = False, device: int = 0) -> Made:
    """A turn: input (4 + 2), a launch with a kernel of 100 from 2 into it, the wait, a copy out of 12, `apart` of own code, a
    copy back of 12, a launch with a kernel of 100, the wait."""
    made = Made()
    now, number = 0.0, 0

    def execute(model: int) -> None:
        nonlocal now, number
        number += 1
        made.api("aclmdlExecuteAsync", now, now + 5, stream=1, correlation=number, blocking=0)
        made.task("kernel", now + 2, now + 102, correlation=number, model=model)
        made.api("aclrtSynchronizeStream", now + 5, now + 102, stream=1, blocking=1)
        now += 102

    def copy(size: int, direction: str, where: int = 0) -> None:
        nonlocal now, number
        number += 1
        facts = {"correlation": number, "bytes": size, "direction": direction, "host_kind": "pinned", "device": where}
        made.api("aclrtMemcpy", now, now + 12, blocking=1, **facts)
        made.task("copy", now + 1, now + 11, stream=9, **facts)
        now += 12

    for _ in range(count):
        copy(150_000, "h2d")
        execute(1)
        copy(4096, "d2h")
        now += apart
        if launch:
            execute(2)
        copy(back, "h2d", device)
        execute(2)
    return made


class TestPingPong:
    def test_positive(self) -> None:
        """Both copies of 12 go; what the host does in between stays. The last step ends before its copies."""
        (finding,) = loud(there_and_back(), "ping-pong")
        assert finding.gain is not None
        assert (finding.facts["count"], finding.facts["per_step"], finding.facts["apart_ns"]) == (9, 0.9, 50_000)
        assert finding.gain.ns == 9 * 24_000

    def two_tensors(self, swapped: bool = False) -> Made:
        """As there_and_back, but two tensors of different sizes go out before the first comes back."""
        made = there_and_back()
        for table in ("api", "task"):
            for row in list(made.rows[table]):
                if row["bytes"] == 4096:
                    more = 9000 + (swapped and row["direction"] == "h2d")
                    made.rows[table].append({**row, "bytes": more, "correlation": 1000 + int(str(row["correlation"]))})
        for row in (*made.rows["api"], *made.rows["task"]):
            if row["bytes"] in (9000, 9001):  # right behind the first, in the own code of 50
                later = 12_000 if row["direction"] == "d2h" else -12_000
                row["start"], row["end"] = int(str(row["start"])) + later, int(str(row["end"])) + later
        return made

    def test_several_tensors_there_before_the_first_is_back(self) -> None:
        (finding,) = loud(self.two_tensors(), "ping-pong")
        assert (finding.facts["count"], finding.facts["total_bytes"]) == (18, 9 * 2 * (4096 + 9000))
        (alone,) = said(self.two_tensors(swapped=True), "ping-pong")
        assert alone.facts["count"] == 9  # the second comes back larger

    def test_near_miss_another_size(self) -> None:
        assert said(there_and_back(back=4100), "ping-pong") == []

    def test_near_miss_a_millisecond_apart(self) -> None:
        assert said(there_and_back(apart=1000), "ping-pong") == []
        assert len(said(there_and_back(apart=999), "ping-pong")) == 1

    def test_near_miss_a_launch_in_between(self) -> None:
        assert said(there_and_back(launch=True), "ping-pong") == []

    def test_near_miss_to_another_device(self) -> None:
        assert said(there_and_back(device=1), "ping-pong") == []

    def test_near_miss_the_next_input_has_the_size_of_the_last_result(self) -> None:
        """Result of one step, input of the next: different data."""
        assert said(turns(count=10, size=4096, direction="d2h"), "ping-pong") == []

    def test_clean(self) -> None:
        assert said(turns(), "ping-pong") == []


def copies(rates: list[float], size: int = 4 * MIB, direction: str = "h2d", kind: str = "pinned", together: int = 1) -> Made:
    """Copies of one size one after the other (or `together` at a time) at these GB/s, each followed by a kernel of 50."""
    made = Made()
    now = 0.0
    for number, rate in enumerate(rates):
        length = size / rate / 1000
        for part in range(together):
            facts = {"correlation": 10 * number + part, "bytes": size, "direction": direction, "host_kind": kind}
            made.api("aclrtMemcpyAsync", now + part, now + part + 1, stream=2 + part, blocking=0, **facts)
            made.task("copy", now + 2, now + 2 + length, stream=2 + part, **facts)
        end = now + 2 + length
        made.api("aclrtSynchronizeDevice", now + together, end, blocking=1)
        made.api("launch", end, end + 5, correlation=10 * number + 9, stream=1, level="node")
        made.task("kernel", end + 2, end + 52, correlation=10 * number + 9, name="Add")
        now = end + 52
    return made


class TestCopySlow:
    def test_positive_against_the_best_seen(self) -> None:
        """Ten at 20 GB/s, five at 5: each of these takes 838.9 and could take 209.7."""
        (finding,) = loud(copies([20] * 10 + [5] * 5), "copy-slow")
        assert finding.gain is not None
        best = max(20, 4 * MIB / (10_000 + 4 * MIB / 22))
        assert finding.facts["count"] == 5 and finding.facts["gbps"] == pytest.approx(5, rel=0.01)
        assert finding.gain.ns == pytest.approx(5 * (4 * MIB / 5 - 4 * MIB / best), rel=0.01)

    def test_against_the_curve_of_pageable_memory(self) -> None:
        """Pageable memory moves at 8 GB/s: 5 is no reason to complain, 3 is."""
        assert said(copies([5] * 5, kind="pageable"), "copy-slow") == []
        (finding,) = said(copies([3] * 5, kind="pageable"), "copy-slow")
        assert finding.facts["best"] == pytest.approx(4 * MIB / (10_000 + 4 * MIB / 8), rel=0.01)

    def test_pageable_copies_are_not_measured_by_pinned_ones(self) -> None:
        """Pageable at 8 GB/s beside pinned at 22 is what it can be; at 3 it is not, whatever the others do."""
        for rate, count in ((8.0, 0), (3.0, 5)):
            made = copies([22] * 10 + [rate] * 5)
            for table in ("api", "task"):
                for row in made.rows[table]:
                    if row["direction"] == "h2d" and int(str(row["correlation"])) >= 100:
                        row["host_kind"] = "pageable"
            assert [f.facts["count"] for f in said(made, "copy-slow")] == ([count] if count else [])

    def test_near_miss_small_copies(self) -> None:
        assert said(copies([20] * 5 + [2] * 5, size=MIB - 1), "copy-slow") == []

    def test_near_miss_half_of_the_best(self) -> None:
        assert said(copies([20] * 5 + [10.5] * 5), "copy-slow") == []

    def test_near_miss_two_copies_share_the_link(self) -> None:
        """7 GB/s each are 14 together."""
        assert len(said(copies([7] * 5), "copy-slow")) == 1
        assert said(copies([7] * 5, together=2), "copy-slow") == []

    def test_clean(self) -> None:
        assert said(copies([21] * 10), "copy-slow") == []


def inside(size: int, rate: float, count: int = 10, aligned: int = 0) -> Made:
    """Copies inside the device at `rate` GB/s between kernels of 50; before them `aligned` ones of 1 MiB at 400 GB/s. The window
    is the span of device work, so the very first launch lies before it."""
    made = Made()
    now, number = 0.0, 0
    for length, bytes_ in [(MIB / 400 / 1000, MIB)] * aligned + [(size / rate / 1000, size)] * count:
        made.api("launch", now, now + 1, correlation=number, stream=1, level="node")
        made.task("copy", now + 1, now + 1 + length, correlation=number, bytes=bytes_, direction="d2d")
        made.api("launch", now + 2, now + 3, correlation=number + 1, stream=1, level="node")
        made.task("kernel", now + 1 + length, now + 51 + length, correlation=number + 1, name="Add")
        made.api("aclrtSynchronizeStream", now + 3, now + 51 + length, stream=1, blocking=1)
        now, number = now + 51 + length, number + 2
    return made


class TestUnalignedCopy:
    def test_positive_at_the_rate_of_aligned_ones(self) -> None:
        """1,000,000 bytes at 50 GB/s take 20; 1,000,448 at 400 take 2.5."""
        (finding,) = loud(inside(1_000_000, 50, aligned=5), "unaligned-copy")
        assert finding.gain is not None
        assert finding.gain.ns == pytest.approx(10 * (20_000 - 2_501), rel=0.01)
        assert (finding.gain.confidence, finding.facts["aligned"]) == ("medium", 4)

    def test_by_the_curve_with_low_confidence(self) -> None:
        (finding,) = said(inside(1_000_000, 50), "unaligned-copy")
        assert finding.gain is not None and finding.gain.confidence == "low"
        curve = copy_ns(1_000_448, "d2d", "pinned", CHIP)
        assert finding.gain.ns == pytest.approx(9 * (20_000 - curve.latency_ns - 1_000_448 / curve.bytes_per_ns), rel=0.01)

    def test_near_miss_a_multiple_of_512(self) -> None:
        assert said(inside(999_936, 50), "unaligned-copy") == []

    def test_near_miss_under_a_hundredth_of_the_window(self) -> None:
        assert said(inside(1000, 2), "unaligned-copy") == []

    def test_near_miss_512_bytes(self) -> None:
        assert said(inside(511, 0.1), "unaligned-copy") == []

    def test_clean_as_fast_as_aligned_ones(self) -> None:
        assert loud(inside(1_000_000, 400, aligned=5), "unaligned-copy") == []
