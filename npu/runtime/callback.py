"""Host functions that a stream calls: queued like tasks, run in the thread that is subscribed to the stream and polls for
them; and the function that hears of failed tasks."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from npu.device.task import CALLBACK, Event, Task
from npu.errors import NpuError
from npu.runtime.process import Process
from npu.runtime.stream import Stream, queue
from npu.runtime.thread import HostThread
from npu.runtime.wait import wait

CONTINUE, BLOCK = 0, 1
UNKNOWN = 0xFFFF_FFFF  # what the getters of an exception answer for a bad handle
Called = Callable[[object], object]


@dataclass(slots=True)
class Report:
    """A function whose turn came at `time` (ns). done: told when it has run, so that the stream can go on."""

    time: int
    function: Called
    data: object
    done: Event
    task: Task


@dataclass
class Desk:
    """What one thread has to run, and the streams it is subscribed to."""

    pending: deque[Report] = field(default_factory=deque)
    streams: set[int] = field(default_factory=set)  # ordinals


class Desks:
    """Of one process: by thread identity, and by stream."""

    def __init__(self) -> None:
        self.by_thread: dict[int, Desk] = {}
        self.by_stream: dict[int, Desk] = {}


def subscribe(process: Process, ident: int, stream: Stream) -> None:
    """Let a thread (by identity) run what is launched on a stream. NpuError stream_subscribed."""
    desks = process.one(Desks)
    if stream.ordinal in desks.by_stream:
        raise NpuError("stream_subscribed", stream=stream.ordinal)
    desk = desks.by_thread.setdefault(ident, Desk())
    desk.streams.add(stream.ordinal)
    desks.by_stream[stream.ordinal] = desk


def unsubscribe(process: Process, ident: int, stream: Stream) -> None:
    """End that. NpuError thread_subscribed when the thread is not subscribed to the stream."""
    desks = process.one(Desks)
    desk = desks.by_thread.get(ident)
    if desk is None or stream.ordinal not in desk.streams:
        raise NpuError("thread_subscribed", stream=stream.ordinal)
    desk.streams.discard(stream.ordinal)
    del desks.by_stream[stream.ordinal]
    if not desk.streams:
        del desks.by_thread[ident]


def launch(process: Process, thread: HostThread, function: Called, data: object, block: int, stream: Stream) -> None:
    """Queue a call. block: whether the stream waits for its end. NpuError invalid_param, no_report_thread."""
    if block not in (CONTINUE, BLOCK):
        raise NpuError("invalid_param", block_type=block)
    desk = process.one(Desks).by_stream.get(stream.ordinal)
    if desk is None:
        raise NpuError("no_report_thread", stream=stream.ordinal)
    done = Event(-1)

    def start(when: int) -> None:
        desk.pending.append(Report(when, function, data, done, task))
        if process.waiters:
            process.changed.notify_all()

    gate = (lambda: done.time) if block == BLOCK else (lambda: 0)
    task = queue(process, thread, stream, CALLBACK, 0, "CALLBACK", gate=gate, on_start=start)
    if block == BLOCK and process.hazards is not None:
        process.hazards.gated(stream, done)


def process_report(process: Process, thread: HostThread, timeout_ms: int) -> None:
    """Run what is due for the calling thread; wait for something to be. NpuError thread_subscribed, report_timeout."""
    desk = process.one(Desks).by_thread.get(thread.ident)
    if desk is None:
        raise NpuError("thread_subscribed")
    if timeout_ms < -1:
        raise NpuError("invalid_param", timeout=timeout_ms)
    thread.blocking = 1
    pending = desk.pending
    timeout = timeout_ms * 1_000_000 if timeout_ms >= 0 else -1
    wait(process, thread, lambda: pending[0].time if pending else -1, timeout, "report", polling=True)
    while pending and pending[0].time <= thread.clock.now:
        report = pending.popleft()
        if process.hazards is not None:
            process.hazards.joined(report.task)
        with process.unlocked(thread):
            _quietly(report.function, report.data)
        report.done.completed, report.done.time = 1, thread.clock.now
        if process.hazards is not None:
            process.hazards.ended(report.done)
        if process.waiters:
            process.changed.notify_all()


def _quietly(function: Called, data: object) -> None:
    try:
        function(data)
    except Exception as error:  # noqa: BLE001 - whatever a script's function raises is swallowed, as the binding does
        del error


@dataclass(frozen=True, slots=True)
class ExceptionInfo:
    """A failed task as the function that hears of it sees it."""

    task: int
    stream: int
    thread: int
    device: int
    code: int


def on_exception(process: Process, function: Called | None) -> None:
    """Let a function hear of failed tasks, called with a handle of their facts by the thread that gets the error. None ends it"""
    if function is None:
        process.on_failure = None
        return

    def tell(thread: HostThread, device: int, stream: int, task: int, failure: NpuError) -> None:
        info = process.register(ExceptionInfo(task, stream, thread.ident & UNKNOWN, device, failure.code))
        with process.unlocked(thread):
            _quietly(function, info)
        del process.objects[info]

    process.on_failure = tell


def fact(process: Process, handle: int, name: str) -> int:
    """One number of a failed task; UNKNOWN for a bad handle."""
    found = process.objects.get(handle)
    return int(getattr(found, name)) if isinstance(found, ExceptionInfo) else UNKNOWN
