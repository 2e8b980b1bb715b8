"""Where the host waits for the device: reads of values, results whose size is data, synchronise. The calls are those the
framework
makes: an asynchronous copy to pinned memory and a wait for its stream."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch import Tensor

from npu.device.task import COPY, PLAIN, Task
from npu.events import DIRECTIONS, HOST_KINDS
from npu.runtime import stream as streams
from npu.runtime.process import Process
from npu.runtime.side import nominal_ns
from npu.runtime.stream import Stream
from npu.runtime.thread import HostThread
from npu.torch_npu import launch, memory, place

PAGEABLE, PINNED = HOST_KINDS.index("pageable"), HOST_KINDS.index("pinned")
DIRECTION = {name: number for number, name in enumerate(DIRECTIONS)}
on_device: list[Callable[[Process, HostThread], None]] = []  # what is done before the host waits for a whole device
SIZE_BYTES = 8  # a result's size is one int64


def for_result(process: Process, thread: HostThread, where: Stream, shown: str, begun: int, count: int = SIZE_BYTES) -> None:
    """Read a few bytes back: the host goes on when they are there."""
    with process.lock:
        copy(process, thread, where, "d2h", True, count)
        synchronize(process, thread, where)
        launch.marked(process, thread, shown, begun)


def copy(
    process: Process, thread: HostThread, where: Stream, direction: str, pinned: bool, count: int,
    done: Callable[[int], None] | None = None, reads: Sequence[Tensor] = (), writes: Sequence[Tensor] = (),
) -> None:  # fmt: skip
    """Queue an asynchronous copy. done: moves the bytes, at the copy's end; reads, writes: its npu tensors, which only somebody
    who looks for hazards asks for."""
    recording = process.recording
    kind = -1 if direction == "d2d" else PINNED if pinned else PAGEABLE

    def submit() -> None:
        thread.bytes, thread.direction, thread.host_kind = count, DIRECTION[direction], kind
        thread.stream, thread.device = where.ordinal, where.context.device
        row = PLAIN
        if recording.on:
            thread.correlation = recording.correlation()
            row = recording.row("MEMCPY_ASYNC", -1, "", "", count, DIRECTION[direction], kind)
            if process.hazards is not None:
                row = row._replace(reads=memory.named(process, reads), writes=memory.named(process, writes))
        task = Task(COPY, nominal_ns(process, direction, not pinned, count), row, engine=direction, on_done=done)
        task.correlation = thread.correlation
        where.submit(process, thread, task)

    place.called(process, thread, "aclrtMemcpyAsync", submit)


def synchronize(process: Process, thread: HostThread, where: Stream) -> None:
    """The host waits for all that is queued on a stream. RuntimeError for a task that failed, and inside a captured graph."""
    if launch.capture is not None:
        raise RuntimeError("operation not permitted when stream is capturing: the host cannot wait for the device inside a graph")

    def wait() -> None:
        thread.stream, thread.device = where.ordinal, where.context.device
        streams.synchronize(process, thread, where)

    place.called(process, thread, "aclrtSynchronizeStreamWithTimeout", wait)


def synchronize_device(process: Process, thread: HostThread, device: int) -> None:
    """The host waits for all streams of a device."""
    for action in on_device:
        action(process, thread)
    place.on(process, thread, device)
    place.called(process, thread, "aclrtSynchronizeDevice", lambda: streams.synchronize_device(process, thread))
