"""Streams: a queue on the device, known by a handle; 0 is the default stream of the current context."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from npu.device.task import Event, Row, Task
from npu.errors import NpuError
from npu.runtime.process import Process
from npu.runtime.thread import HostThread
from npu.runtime.wait import wait

if TYPE_CHECKING:
    from npu.runtime.context import Context


class Stream:
    """ordinal: what rows hold. last: the task queued last, so that a synchronise knows what to wait for."""

    def __init__(self, process: Process, context: Context, default: bool = False, internal: bool = False) -> None:
        self.context = context
        self.ordinal = process.ordinal("stream")
        self.alive = True
        self.last: Task | None = None
        context.dev.add_stream(self.ordinal)
        self.handle = 0 if default or internal else process.register(self)
        if self.handle:
            context.streams[self.handle] = self

    def submit(self, process: Process, thread: HostThread, task: Task) -> None:
        """Queue a task at the thread's present."""
        self.context.dev.submit(self.ordinal, task, thread.clock.now)
        self.last = task
        process.changed.notify_all()

    def close(self, process: Process) -> None:
        self.alive = False
        self.context.dev.drop_stream(self.ordinal)
        self.context.streams.pop(self.handle, None)
        process.objects.pop(self.handle, None)

    def error(self) -> NpuError | None:
        """The first failure of a task of this stream, once."""
        state = self.context.dev.stream(self.ordinal)
        found, state.error = state.error, None
        return found

    @property
    def idle(self) -> bool:
        return self.context.dev.stream(self.ordinal).idle


def of(process: Process, thread: HostThread, handle: int) -> Stream:
    """The stream of a handle; 0 is the current context's default stream. NpuError no_context, invalid_handle."""
    from npu.runtime.context import current

    if handle == 0:
        stream = current(thread).default
    else:
        stream = process.get(handle, Stream)
    thread.stream, thread.device = stream.ordinal, stream.context.device
    return stream


def create(process: Process, context: Context) -> int:
    return Stream(process, context).handle


def destroy(process: Process, thread: HostThread, handle: int) -> None:
    """End a stream after its work: destroying waits, as on the device."""
    if handle == 0:
        raise NpuError("invalid_param", handle=0)
    stream = of(process, thread, handle)
    synchronize(process, thread, stream)
    stream.close(process)


def synchronize(process: Process, thread: HostThread, stream: Stream, timeout_ms: int = -1) -> None:
    """Wait until all that is queued now is done; then report the first failure of its tasks."""
    thread.blocking = 1
    last = stream.last
    if last is not None:
        wait(process, thread, lambda: last.done_at, timeout_ms * 1_000_000 if timeout_ms >= 0 else -1)
    failure = stream.error()
    if failure is not None:
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
    for stream in streams:
        failure = stream.error()
        if failure is not None:
            raise failure


def finished(process: Process, thread: HostThread, stream: Stream) -> bool:
    """Whether all of a stream's work is done at the thread's present."""
    process.advance(thread.clock.now)
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
) -> None:
    """Queue a task without engine: a record, a wait, a mark."""
    text = process.recording.text
    thread.correlation = process.recording.correlation()
    row = Row(correlation=thread.correlation, task_type=text(type_name), event=-1 if event is None else event.ordinal)
    stream.submit(process, thread, Task(kind, duration, row, event=event, target=target, on_done=on_done))
