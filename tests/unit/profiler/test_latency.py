"""Percentiles by nearest rank, and what slow iterations do that fast ones do not. Times us."""

from __future__ import annotations

import pytest

from profiler.analysis.context import Context
from profiler.analysis.latency import latency as latency_of
from profiler.findings import Latency
from profiler.report.latency import lines, speaks, to_json
from tests.made import Made


def frames(slow: tuple[int, ...], count: int = 50) -> Made:
    """Frames of 8000: copy in 100, execute, wait. The slow ones allocate and free a buffer first: 22000 more."""
    made, now = Made(), 0.0
    for frame in range(count):
        if frame in slow:
            made.api("aclrtMalloc", now, now + 15_000, site="feed.py:31")
            made.api("aclrtFree", now + 15_000, now + 22_000, site="feed.py:40")
        begin = now + (22_000 if frame in slow else 0)
        made.marker("step", f"frame {frame}", now, begin + 8_000)
        made.api("aclrtMemcpy", begin, begin + 100, direction="h2d", bytes=4_000, blocking=1, correlation=2 * frame)
        made.task("copy", begin + 10, begin + 100, correlation=2 * frame, direction="h2d", name="MEMCPY_ASYNC")
        made.api("aclmdlExecuteAsync", begin + 100, begin + 110, correlation=2 * frame + 1, blocking=0)
        made.task("kernel", begin + 110, begin + 7_900, correlation=2 * frame + 1, op_type="Conv2D", name="conv")
        made.api("aclrtSynchronizeStream", begin + 110, begin + 7_950, stream=1, blocking=1)
        now = begin + 8_000
    return made


def latency(made: Made) -> Latency:
    found = latency_of(Context(made.trace()))
    assert found is not None
    return found


def test_allocation_per_frame_gives_a_p99_of_30_ms() -> None:
    found = latency(frames((7, 30)))
    assert (found.count, found.p50, found.p90, found.p99) == (50, 8_000_000, 8_000_000, 30_000_000)
    assert found.slow == (7, 30)
    assert [(e.kind, e.name, e.slow_ns, e.fast_ns, e.slow_count, e.fast_count, e.site) for e in found.excess] == [
        ("call", "aclrtMalloc", 15_000_000, 0, 1.0, 0.0, "feed.py:31"),
        ("call", "aclrtFree", 7_000_000, 0, 1.0, 0.0, "feed.py:40"),
    ]
    assert speaks(found)


def test_even_frames_are_silent() -> None:
    found = latency(frames(()))
    assert (found.slow, found.excess, found.p99) == ((), (), found.p50)
    assert not speaks(found)


def test_nearest_rank_of_ten() -> None:
    """Steps of 10, 20 ... 100: P50 is the 5th, P90 the 9th, P99 the 10th."""
    made, now = Made(), 0.0
    for step in range(1, 11):
        made.marker("step", f"{step}", now, now + 10 * step)
        made.task("kernel", now + 1, now + 5)
        now += 10 * step
    found = latency(made)
    assert (found.p50, found.p90, found.p99) == (50_000, 90_000, 100_000)
    assert found.slow == (8, 9, 10)  # over 75
    assert [(e.kind, e.name) for e in found.excess] == []  # the trace does not say what they did


def test_own_code_and_longer_kernels_are_told_and_waits_come_last() -> None:
    made, now = Made(), 0.0
    for step in range(20):
        extra, kernel = (300, 400) if step == 13 else (10, 100)
        made.marker("step", f"{step}", now, now + extra + kernel + 10)
        begin = now + extra
        made.api("aclmdlExecuteAsync", begin, begin + 5, correlation=step, blocking=0)
        made.task("kernel", begin + 5, begin + 5 + kernel, correlation=step, op_type="MatMulV2", name="m")
        made.api("aclrtSynchronizeStream", begin + 5, begin + kernel + 10, stream=1, blocking=1)
        now = begin + kernel + 10
    found = latency(made)
    assert [(e.kind, e.name, (e.slow_ns - e.fast_ns) / 1000) for e in found.excess] == [
        ("operator", "MatMulV2", 300.0), ("own_code", "", 290.0), ("wait", "aclrtSynchronizeStream", 300.0),
    ]  # fmt: skip


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_text_and_json(lang: str) -> None:
    found = latency(frames((7, 30)))
    text = "\n".join(lines(found, lang))
    assert "aclrtMalloc" in text and "feed.py:31" in text and "30.0 ms" in text and "{" not in text
    made = to_json(found)
    assert made is not None and made["p99_us"] == 30_000 and made["excess"][0]["slow_us"] == 15_000
    assert "".join(lines(None, lang)) and to_json(None) is None


def test_without_steps_there_is_none() -> None:
    made = Made()
    made.task("kernel", 0, 5)
    assert latency_of(Context(made.trace())) is None
