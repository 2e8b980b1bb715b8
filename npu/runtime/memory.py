"""Device memory of a process: allocate, free, copy. Data moves when its task ends."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from npu.cost import copy_ns
from npu.device.memory import Block, device_of
from npu.device.task import COPY, MEMSET, Row, Task
from npu.driver.door import DriverError
from npu.errors import NpuError
from npu.events import DIRECTIONS, MEMORY_EVENTS
from npu.runtime import host
from npu.runtime.context import Context, current
from npu.runtime.process import Process
from npu.runtime.stream import Stream
from npu.runtime.thread import HostThread
from npu.runtime.wait import wait

H2H, H2D, D2H, D2D = range(4)
DEFAULT = 4  # kind: the addresses decide
KINDS = {0: H2H, 1: H2D, 2: D2H, 3: D2D, 5: H2D, 6: D2D, 7: D2D}
PADDING = 32
BIG = 1 << 20  # huge-page-first policies take huge pages for more than this
# policy -> True huge pages first, None huge pages only, False small pages only (aclrtMemMallocPolicy; the P2P forms alike)
POLICIES: dict[int, bool | None] = {0: True, 1: None, 2: False, 3: True, 4: None, 5: False, 6: None, 7: None}


def malloc(process: Process, thread: HostThread, size: int, policy: int, padding: int = PADDING) -> int:
    """Address of new device memory: size rounded up to 32 bytes plus padding, pages by policy.

    NpuError invalid_param, no_context, no_memory."""
    if size == 0 or (policy & 0xFF) not in POLICIES:
        raise NpuError("invalid_param", size=size, policy=policy)
    context = current(thread)
    wanted = POLICIES[policy & 0xFF]
    span = -(-size // 32) * 32 + padding
    huge = wanted is None or (wanted and span > BIG)
    thread.device, thread.bytes = context.device, size
    try:
        address = context.dev.alloc(span, huge)
    except DriverError as error:
        raise NpuError(error.situation, size=size, **error.facts) from error
    block = context.dev.find(address)
    if block is not None:
        _note(process, thread, context, "alloc", block[0])
    return address


def free(process: Process, thread: HostThread, address: int) -> None:
    """Give device memory back. NpuError invalid_param, free_failed."""
    if address == 0:
        raise NpuError("invalid_param", pointer=0)
    context = owner(process, address)
    if context is None:
        raise NpuError("free_failed", pointer=address)
    found = context.dev.find(address)
    if found is None or found[1] != 0:
        raise NpuError("free_failed", pointer=address)
    thread.device, thread.bytes = context.device, found[0].size
    _note(process, thread, context, "free", found[0])
    context.dev.free(address)


def on_device(address: int) -> bool:
    """Whether an address can only be device memory."""
    return device_of(address) >= 0


def owner(process: Process, address: int) -> Context | None:
    """A live context on the device an address belongs to; None for a host address or a closed device."""
    device = device_of(address)
    for thing in process.objects.values():
        if isinstance(thing, Context) and thing.alive and thing.dev.device == device:
            return thing
    return None


def _note(process: Process, thread: HostThread, context: Context, what: str, block: Block) -> None:
    if process.recording.on:
        used = context.dev.used() - (block.pages * block.page if what == "free" else 0)
        process.recording.memory(
            thread.clock.now,
            block.address,
            block.size,
            used,
            used,
            -1,
            block.ordinal,
            context.device,
            process.recording.text("APP"),
            thread.site,
            MEMORY_EVENTS.index(what),
        )


class Side:
    """One end of a copy: a live device block with offset, or host memory, pinned or pageable."""

    __slots__ = ("address", "block", "context", "offset", "pinned")

    def __init__(self, process: Process, address: int, count: int, on_device: bool) -> None:
        self.address = address
        self.block: Block | None = None
        self.context: Context | None = None
        self.offset = 0
        self.pinned = True
        is_device = device_of(address) >= 0
        if on_device:
            self.context = owner(process, address)
            found = self.context.dev.find(address) if self.context is not None else None
            if found is None:
                raise NpuError("not_device_memory", pointer=address, bytes=count)
            self.block, self.offset = found
            if self.offset + count > self.block.span:
                raise NpuError("overrun", pointer=address, bytes=count, allocated=self.block.size - self.offset)
        elif is_device:
            raise NpuError("wrong_side", pointer=address, bytes=count)
        else:
            self.pinned = host.pinned(process).find(address) is not None

    @property
    def text(self) -> str:
        """How a row names this buffer: allocation+offset; "" for host memory."""
        return "" if self.block is None else f"{self.block.ordinal}+{self.offset}"

    def place(self) -> int:
        """The process address of the bytes."""
        return self.context.dev.place(self.address) if self.context is not None else self.address


class Copy:
    """A checked copy: both ends, direction, and how its bytes move."""

    def __init__(self, process: Process, dst: int, dst_max: int, src: int, count: int, kind: int) -> None:
        if dst == 0 or src == 0:
            raise NpuError("invalid_param", dst=dst, src=src)
        if count > dst_max:
            raise NpuError("invalid_size", count=count, dst_max=dst_max)
        if kind == DEFAULT:
            kind = (2 if device_of(src) >= 0 else 0) + (1 if device_of(dst) >= 0 else 0)
        if kind not in KINDS:
            raise NpuError("invalid_param", kind=kind)
        self.direction = KINDS[kind]
        self.count = count
        if self.direction == H2D:  # the side that must be device memory is judged first: that is what a mixed-up direction breaks
            self.dst = Side(process, dst, count, on_device=True)
            self.src = Side(process, src, count, on_device=False)
        else:
            self.src = Side(process, src, count, self.direction in (D2H, D2D))
            self.dst = Side(process, dst, count, self.direction == D2D)
        self.host_kind = -1
        if self.direction in (H2D, D2H):
            self.host_kind = 1 if (self.src if self.direction == H2D else self.dst).pinned else 0

    def move(self, staged: host.Staged | None = None) -> None:
        """Move the bytes now."""
        source = staged.address if staged is not None else self.src.place()
        if self.dst.block is not None:
            self.dst.block.written = True
        if staged is None and not self.src.pinned:
            host.read(self.dst.place(), source, self.count) if self.dst.pinned else _between(self.dst.address, source, self.count)
        elif not self.dst.pinned:
            host.write(self.dst.address, source, self.count)
        else:
            ctypes.memmove(self.dst.place(), source, self.count)

    def stage(self) -> host.Staged:
        """Take the source's bytes now, so that the caller may change them."""
        staged = host.Staged(self.count)
        host.read(staged.address, self.src.address, self.count)
        return staged

    def task(self, process: Process, thread: HostThread, action: Callable[[int], None]) -> Task:
        """The device's part: a task on the copy engine of its direction."""
        recording = process.recording
        direction = DIRECTIONS[self.direction]
        cost = copy_ns(self.count, direction, "pageable" if self.host_kind == 0 else "pinned", process.machine.chip)
        thread.correlation = recording.correlation()
        thread.bytes, thread.direction, thread.host_kind = self.count, self.direction, self.host_kind
        text = recording.text
        row = Row(
            thread.correlation,
            self.count,
            -1,
            text("MEMCPY_ASYNC"),
            reads=text(_range(self.src, self.count)),
            writes=text(_range(self.dst, self.count)),
            direction=self.direction,
            host_kind=self.host_kind,
        )
        return Task(COPY, cost.total, row, engine=direction, on_done=action)


def _range(side: Side, count: int) -> str:
    return f"{side.text}:{count}" if side.block is not None else ""


def _between(dst: int, src: int, count: int) -> None:
    """Pageable to pageable, by way of a buffer of ours."""
    buffer = host.Staged(count)
    host.read(buffer.address, src, count)
    host.write(dst, buffer.address, count)


def _copy_stream(process: Process, context: Context, thread: HostThread) -> Stream:
    """Synchronous copies are not ordered with any stream: each thread has a queue of its own for them."""
    key = ("copies", thread.ordinal)
    found = context.dev.extra.get(key)
    if not isinstance(found, Stream):
        found = context.dev.extra[key] = Stream(process, context, internal=True)
    return found


def memcpy(process: Process, thread: HostThread, dst: int, dst_max: int, src: int, count: int, kind: int) -> None:
    """Copy and wait for it. Not ordered with streams: a buffer that a running task has not written yet gives its old bytes."""
    if count == 0 or (dst == src and dst != 0):
        return
    copy = Copy(process, dst, dst_max, src, count, kind)
    thread.blocking = 1
    if copy.direction == H2H:
        thread.bytes, thread.direction = count, H2H
        thread.clock.now += copy_ns(count, "h2h", "pageable", process.machine.chip).total
        copy.move()
        return
    context = copy.dst.context or copy.src.context
    if context is None:
        raise NpuError("no_context")
    thread.device = context.device
    stream = _copy_stream(process, context, thread)
    task = copy.task(process, thread, lambda _time: copy.move())
    stream.submit(process, thread, task)
    wait(process, thread, lambda: task.done_at)
    failure = stream.error()
    if failure is not None:
        raise failure


def memcpy_async(
    process: Process, thread: HostThread, dst: int, dst_max: int, src: int, count: int, kind: int, stream: Stream
) -> None:
    """Queue a copy on a stream. Pageable host memory is not touched after the call: H2D from it is staged now, D2H into it
    waits for its stream."""
    if count == 0 or (dst == src and dst != 0):
        return
    copy = Copy(process, dst, dst_max, src, count, kind)
    if copy.direction == H2H:
        stream.submit(process, thread, copy.task(process, thread, lambda _time: copy.move()))
        return
    if copy.direction == H2D and copy.host_kind == 0:
        staged = copy.stage()
        thread.clock.now += copy_ns(count, "h2h", "pageable", process.machine.chip).total
        stream.submit(process, thread, copy.task(process, thread, lambda _time: copy.move(staged)))
        return
    task = copy.task(process, thread, lambda _time: copy.move())
    stream.submit(process, thread, task)
    if copy.direction == D2H and copy.host_kind == 0:
        thread.blocking = 1
        wait(process, thread, lambda: task.done_at)


def memset(
    process: Process, thread: HostThread, address: int, limit: int, value: int, count: int, stream: Stream | None = None
) -> None:
    """Fill device (or host) memory with a byte; on a stream when one is given, else waiting for it."""
    if count == 0:
        return
    if address == 0:
        raise NpuError("invalid_param", pointer=0)
    if count > limit:
        raise NpuError("invalid_size", count=count, dst_max=limit)
    if device_of(address) < 0:
        source = host.Staged(count)
        ctypes.memset(source.address, value & 0xFF, count)
        host.write(address, source.address, count)
        return
    side = Side(process, address, count, on_device=True)
    if side.context is None or side.block is None:
        raise NpuError("not_device_memory", pointer=address)
    block = side.block

    def fill(_time: int) -> None:
        block.written = True
        ctypes.memset(side.place(), value & 0xFF, count)

    recording = process.recording
    thread.correlation, thread.bytes = recording.correlation(), count
    cost = copy_ns(count, "d2d", "pinned", process.machine.chip)
    row = Row(thread.correlation, count, -1, recording.text("MEMSET"), writes=recording.text(_range(side, count)))
    task = Task(MEMSET, cost.total, row, engine="d2d", on_done=fill)
    if stream is not None:
        stream.submit(process, thread, task)
        return
    thread.blocking = 1
    _copy_stream(process, side.context, thread).submit(process, thread, task)
    wait(process, thread, lambda: task.done_at)
