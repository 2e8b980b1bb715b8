"""Marks and ranges a script sets in its own timeline, also on a stream."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ContextDecorator
from types import TracebackType
from typing import Self

from npu.device.task import OTHER
from npu.errors import NpuError
from npu.events import MARKERS
from npu.runtime.process import Process
from npu.runtime.stream import Stream, queue
from npu.runtime.thread import HostThread

STEP_START, STEP_END = 0, 1  # aclprofStepTag
STEP, RANGE, MARK = (MARKERS.index(k) for k in ("step", "range", "mark"))
DEFAULT_DOMAIN = "default"
MOST_BYTES = 156  # of a message
DEVICE_NS = 500  # device time of a mark on a stream (unverified)


class StepInfo:
    """A step a script marks on a stream. begun: ns, -1 before it was reached; number: steps that have ended."""

    def __init__(self) -> None:
        self.begun = -1
        self.number = 0


class Open:
    """A range that has begun."""

    def __init__(self, message: str, domain: str, start: int, stream: Stream | None, correlation: int = -1) -> None:
        self.message, self.domain, self.start, self.stream, self.correlation = message, domain, start, stream, correlation


class Around(ContextDecorator):
    """A range around a function or a block, as often as it is entered: begin() gives its id, end(id) ends it."""

    def __init__(self, begin: Callable[[], int], end: Callable[[int], None]) -> None:
        self._begin, self._end = begin, end
        self._open: list[int] = []

    def __enter__(self) -> Self:
        self._open.append(self._begin())
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._end(self._open.pop())


class Ranges:
    """Open ranges by id, and the nested ones of each thread (by ordinal)."""

    def __init__(self) -> None:
        self.by_id: dict[int, Open] = {}
        self.nested: dict[int, list[Open]] = {}


def checked(message: str) -> str:
    """A message that fits. NpuError invalid_param."""
    if not message or len(message.encode("utf-8", "surrogateescape")) > MOST_BYTES:
        raise NpuError("invalid_param", message=message[:40], most=MOST_BYTES)
    return message


def write(
    process: Process, thread: HostThread, kind: int, name: str, domain: str, start: int, end: int, correlation: int = -1
) -> None:
    """One row of the marker table."""
    recording = process.recording
    if recording.on:
        device = thread.context.device if thread.context is not None else -1
        recording.marker(start, end, thread.ordinal, device, recording.text(name), recording.text(domain), -1, correlation, kind)


def mark(process: Process, thread: HostThread, message: str, domain: str = DEFAULT_DOMAIN, stream: Stream | None = None) -> None:
    """A moment. With a stream also a mark in the stream's order. NpuError invalid_param."""
    checked(message)
    correlation = _on_device(process, thread, stream)
    write(process, thread, MARK, message, domain, thread.clock.now, thread.clock.now, correlation)


def _on_device(process: Process, thread: HostThread, stream: Stream | None, begun: int = -1) -> int:
    """Put a mark into a stream; the correlation of its task, -1 without a stream. begun: that of the range it ends."""
    if stream is None:
        return -1
    task = queue(process, thread, stream, OTHER, DEVICE_NS, "MSTX")
    if begun >= 0:
        task.correlation = thread.correlation = begun
    return thread.correlation


def begin(process: Process, thread: HostThread, message: str, domain: str = DEFAULT_DOMAIN, stream: Stream | None = None) -> int:
    """Begin a range; its id. NpuError invalid_param."""
    checked(message)
    correlation = _on_device(process, thread, stream)
    number = process.ordinal("range") + 1
    process.one(Ranges).by_id[number] = Open(message, domain, thread.clock.now, stream, correlation)
    return number


def end(process: Process, thread: HostThread, number: int) -> None:
    """End a range, from any thread. NpuError invalid_param for one that is not open."""
    found = process.one(Ranges).by_id.pop(number, None)
    if found is None:
        raise NpuError("invalid_param", range=number, reason="no such range is open")
    correlation = _on_device(process, thread, found.stream, found.correlation)
    write(process, thread, RANGE, found.message, found.domain, found.start, thread.clock.now, correlation)


def push(process: Process, thread: HostThread, message: str) -> None:
    """Begin a range nested in the calling thread's last one."""
    checked(message)
    mine = process.one(Ranges).nested.setdefault(thread.ordinal, [])
    mine.append(Open(message, DEFAULT_DOMAIN, thread.clock.now, None))


def pop(process: Process, thread: HostThread) -> None:
    """End it. NpuError invalid_param when the thread has none."""
    mine = process.one(Ranges).nested.get(thread.ordinal)
    if not mine:
        raise NpuError("invalid_param", reason="the thread has no open range")
    found = mine.pop()
    write(process, thread, RANGE, found.message, found.domain, found.start, thread.clock.now)


def step(process: Process, thread: HostThread, info: StepInfo, tag: int, stream: Stream) -> None:
    """Queue the begin or end of a step; a step with both is a row in device time. NpuError invalid_param."""
    if tag not in (STEP_START, STEP_END):
        raise NpuError("invalid_param", tag=tag)

    def reached(when: int) -> None:
        if tag == STEP_START:
            info.begun = when
        elif info.begun >= 0:
            info.number += 1
            write(process, thread, STEP, f"step {info.number}", DEFAULT_DOMAIN, info.begun, when)
            info.begun = -1

    queue(process, thread, stream, OTHER, DEVICE_NS, "PROFILER_TRACE_EX", on_done=reached)
