"""Streams: a queue on the device, known by a handle; 0 is the default stream of the current context."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from npu.device.task import PLAIN, Event, Task
from npu.errors import NpuError
from npu.runtime.process import Process
from npu.runtime.thread import HostThread
from npu.runtime.wait import wait

if TYPE_CHECKING:
    from npu.runtime.context import Context

MOST = 2048  # streams of a device at a time (unverified; public documentation of A2 names 1984 and 2048)
LEAST_PRIORITY, GREATEST_PRIORITY = 7, 0
KNOWN_FLAGS = 0x3F  # of create_stream_with_config


class Stream:
    """ordinal: what rows hold. last: the task queued last, so that a synchronise knows what to wait for. overflow: whether
    overflow detection is on; tag: the user's own mark; cores: limits of cube and vector cores by type."""

    def __init__(
        self, process: Process, context: Context, default: bool = False, internal: bool = False, priority: int = 0
    ) -> None:
        self.context, self.dev = context, context.dev
        self.ordinal = process.ordinal("stream")
        self.priority = priority
        self.alive = True
        self.last: Task | None = None
        self.overflow = self.tag = self.allocator = 0
        self.cores: dict[int, int] = {}
        self.dev.add_stream(self.ordinal, priority)
        self.handle = 0 if default or internal else process.register(self)
        if self.handle:
            context.streams[self.handle] = self

    def submit(self, process: Process, thread: HostThread, task: Task) -> None:
        """Queue a task at the thread's present."""
        self.dev.submit(self.ordinal, task, thread.clock.now)
        self.last = task
        thread.last_task = task.id
        if process.hazards is not None:
            process.hazards.submitted(self, task)
        if process.waiters:
            process.changed.notify_all()

    def close(self, process: Process) -> None:
        self.alive = False
        if process.hazards is not None:
            process.hazards.joined(self.last)
        self.dev.drop_stream(self.ordinal)
        self.context.streams.pop(self.handle, None)
        process.objects.pop(self.handle, None)

    def error(self) -> NpuError | None:
        """The first failure of a task of this stream, once."""
        state = self.dev.stream(self.ordinal)
        found = state.error
        if found is not None and not state.failed:
            state.error = None
        return found

    @property
    def idle(self) -> bool:
        return self.dev.stream(self.ordinal).idle

    @property
    def stops(self) -> bool:
        """Whether a failed task ends the stream."""
        return self.dev.stream(self.ordinal).stops

    @stops.setter
    def stops(self, value: bool) -> None:
        self.dev.stream(self.ordinal).stops = value


def of(process: Process, thread: HostThread, handle: int) -> Stream:
    """The stream of a handle; 0 is the current context's default stream. NpuError no_context, invalid_handle."""
    context = thread.context
    if handle:
        found = process.objects.get(handle)
        stream = found if found.__class__ is Stream else process.get(handle, Stream)
        if stream.context is not context:
            _foreign(stream, context)
    else:
        if context is None or not context.alive:
            raise NpuError("no_context")
        stream = context.default
    thread.stream, thread.device = stream.ordinal, stream.context.device
    return stream


def _foreign(stream: Stream, context: Context | None) -> None:
    """Refuse a stream of another context than the calling thread's, as the runtime does."""
    if context is None or not context.alive:
        raise NpuError("no_context")
    raise NpuError("stream_context", current=context.device, device=stream.context.device, stream=stream.ordinal)


def available(context: Context) -> int:
    """How many streams can still be made on a context's device."""
    return MOST - len(context.streams)


def create(process: Process, context: Context, priority: int = GREATEST_PRIORITY, flag: int = 0) -> int:
    """A new stream; its handle. NpuError invalid_param for an unknown flag or priority, no_stream_resource."""
    if flag & ~KNOWN_FLAGS or not GREATEST_PRIORITY <= priority <= LEAST_PRIORITY:
        raise NpuError("invalid_param", priority=priority, flag=flag)
    if available(context) <= 0:
        raise NpuError("no_stream_resource", most=MOST)
    return Stream(process, context, priority=priority).handle


def destroy(process: Process, thread: HostThread, handle: int) -> None:
    """End a stream after its work: destroying waits, as on the device."""
    if handle == 0:
        raise NpuError("invalid_param", handle=0)
    stream = of(process, thread, handle)
    synchronize(process, thread, stream)
    stream.close(process)


def abort(process: Process, thread: HostThread, stream: Stream) -> None:
    """Forget what a stream runs and holds, up to the thread's present; the stream itself stays."""
    process.advance(thread.clock.now)
    stream.dev.clear(stream.ordinal)
    if process.hazards is not None:
        process.hazards.joined(stream.last)
    process.changed.notify_all()


def synchronize(process: Process, thread: HostThread, stream: Stream, timeout_ms: int = -1) -> None:
    """Wait until all that is queued now is done; then report the first failure of its tasks."""
    thread.blocking = 1
    last = stream.last
    if last is not None:
        wait(process, thread, lambda: last.done_at, timeout_ms * 1_000_000 if timeout_ms >= 0 else -1)
        if process.hazards is not None:
            process.hazards.joined(last)
    report(process, thread, stream)


def report(process: Process, thread: HostThread, stream: Stream) -> None:
    """Raise the first failure of a stream's tasks that was not reported yet, after the exception callback has heard of it."""
    failure = stream.error()
    if failure is None:
        return
    culprit = stream.dev.stream(stream.ordinal).culprit
    if process.on_failure is not None and culprit is not None:
        process.on_failure(thread, stream.context.device, stream.ordinal, culprit.id, failure)
    raise failure


def synchronize_device(process: Process, thread: HostThread, timeout_ms: int = -1) -> None:
    """synchronize for every stream of the current device."""
    from npu.runtime.context import contexts, current

    here = current(thread).device
    thread.device, thread.blocking = here, 1
    streams = [s for c in contexts(process, here) for s in (c.default, *c.streams.values())]
    lasts = [s.last for s in streams if s.last is not None]

    def done() -> int:
        times = [t.done_at for t in lasts]
        return max(times, default=thread.clock.now) if min(times, default=0) >= 0 else -1

    wait(process, thread, done, timeout_ms * 1_000_000 if timeout_ms >= 0 else -1)
    if process.hazards is not None:
        process.hazards.joined(*lasts)
    for stream in streams:
        report(process, thread, stream)


def finished(process: Process, thread: HostThread, stream: Stream) -> bool:
    """Whether all of a stream's work is done at the thread's present."""
    process.advance(thread.clock.now)
    if stream.idle and process.hazards is not None:
        process.hazards.joined(stream.last)
    return stream.idle


def queue(
    process: Process,
    thread: HostThread,
    stream: Stream,
    kind: int,
    duration: int,
    type_name: str,
    *,
    event: Event | None = None,
    target: int = 0,
    on_done: Callable[[int], None] | None = None,
    gate: Callable[[], int] | None = None,
    on_start: Callable[[int], None] | None = None,
    limit: int = 0,
    reads: str = "",
    writes: str = "",
    count: int = -1,
) -> Task:
    """Queue a task without engine: a record, a wait, a mark, a small write."""
    recording = process.recording
    row = PLAIN
    if recording.on:
        thread.correlation = recording.correlation()
        if event is not None:  # nothing but the event and the type is told of these, so the event keeps the rows
            row = event.rows.get(type_name) or event.rows.setdefault(type_name, recording.row(type_name, event.ordinal))
        else:
            row = recording.row(type_name, -1, reads, writes, count)
    task = Task(kind, duration, row, event=event, target=target, on_done=on_done)
    task.correlation = thread.correlation
    if gate is not None or on_start is not None:
        task.gate, task.on_start = gate, on_start
    if limit:
        task.limit = limit
    stream.submit(process, thread, task)
    return task
