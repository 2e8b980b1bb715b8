"""Copies between host and device, and between devices. Data moves when its task ends."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from npu.device.memory import BASE
from npu.device.task import COPY, PLAIN, Row, Task
from npu.driver.door import Handle
from npu.errors import NpuError
from npu.events import DIRECTIONS
from npu.runtime import host, peer
from npu.runtime.memory import internal_stream
from npu.runtime.process import Process
from npu.runtime.side import Side, nominal_ns
from npu.runtime.stream import Stream
from npu.runtime.thread import HostThread
from npu.runtime.wait import wait

H2H, H2D, D2H, D2D = range(4)
DEFAULT = 4  # kind: the addresses decide
KINDS = {0: H2H, 1: H2D, 2: D2H, 3: D2D, 5: H2D, 6: D2D, 7: D2D}
PAGEABLE, PINNED = 0, 1


class Copy:
    """A checked copy: both ends, direction, and how its bytes move. Its last `count` byte ends `reach` bytes behind the start
    on each side (more than count for copies of rows)."""

    def __init__(self, process: Process, dst: int, src: int, count: int, kind: int, dst_reach: int, src_reach: int) -> None:
        if dst == 0 or src == 0:
            raise NpuError("invalid_param", dst=dst, src=src)
        if kind == DEFAULT:
            kind = (2 if src >= BASE else 0) + (1 if dst >= BASE else 0)
        if kind not in KINDS:
            raise NpuError("invalid_param", kind=kind)
        self.direction = direction = KINDS[kind]
        self.count = count
        if direction == H2D:  # the side that must be device memory is judged first: that is what a mixed-up direction breaks
            self.dst = Side(process, dst, dst_reach, True)
            self.src = Side(process, src, src_reach, False)
        else:
            self.src = Side(process, src, src_reach, direction != H2H)
            self.dst = Side(process, dst, dst_reach, direction == D2D)
        self.host_kind = -1
        if direction == H2D:
            self.host_kind = PINNED if self.src.pinned else PAGEABLE
        elif direction == D2H:
            self.host_kind = PINNED if self.dst.pinned else PAGEABLE
        self.between = peer.check(process, self.src.dev, self.dst.dev) if direction == D2D else False

    def move(self, source: int) -> None:
        """Move the bytes now, from a process address that is safe to read, or from the source where it is 0."""
        self.dst.touched()
        if source == 0 and self.src.guarded:
            if self.dst.guarded:
                _between(self.dst.address, self.src.address, self.count)
            else:
                host.read(self.dst.place(), self.src.address, self.count)
            return
        if source == 0:
            source = self.src.place()
        if self.dst.guarded:
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
        pageable = self.host_kind == PAGEABLE or self.direction == H2H
        nominal = nominal_ns(process, "peer" if self.between else direction, pageable, self.count)
        row = PLAIN
        if recording.on:
            thread.correlation = recording.correlation()
            thread.bytes, thread.direction, thread.host_kind = self.count, self.direction, self.host_kind
            one, other, dev = self.dst.block, self.src.block, self.device
            key = (
                -1 if one is None else one.ordinal,
                self.dst.offset,
                -1 if other is None else other.ordinal,
                self.src.offset,
                self.count,
                self.direction,
                self.host_kind,
                -1 if dev is None else dev.device,
            )
            row = recording.rows.get(key) or recording.keep(key, self.row(process))
        engine = "link" if self.between else "" if self.direction == H2H else direction
        task = Task(COPY, nominal, row, engine=engine, on_done=action)
        task.correlation = thread.correlation
        return task

    def row(self, process: Process) -> Row:
        """What is recorded of it."""
        reads, writes = self.src.range(self.count), self.dst.range(self.count)
        return process.recording.row("MEMCPY_ASYNC", -1, reads, writes, self.count, self.direction, self.host_kind)

    @property
    def device(self) -> Handle | None:
        """The device whose engines do it; None between host addresses."""
        return self.dst.dev or self.src.dev


def checked(process: Process, dst: int, dst_max: int, src: int, count: int, kind: int) -> Copy:
    """A plain copy. NpuError invalid_param, invalid_size, and what the addresses are wrong with."""
    if count > dst_max and dst != 0 and src != 0:
        raise NpuError("invalid_size", count=count, dst_max=dst_max)
    return Copy(process, dst, src, count, kind, count, count)


def _between(dst: int, src: int, count: int) -> None:
    """Pageable to pageable, by way of a buffer of ours."""
    buffer = host.Staged(count)
    host.read(buffer.address, src, count)
    host.write(dst, buffer.address, count)


def nothing_to_do(dst: int, src: int, count: int) -> bool:
    return count == 0 or (dst == src and dst != 0)


def memcpy(process: Process, thread: HostThread, dst: int, dst_max: int, src: int, count: int, kind: int) -> None:
    """Copy and wait for it. Not ordered with streams: a buffer that a running task has not written yet gives its old bytes."""
    if not nothing_to_do(dst, src, count):
        do_now(process, thread, checked(process, dst, dst_max, src, count, kind))


def do_now(process: Process, thread: HostThread, copy: Copy) -> None:
    """A copy and the wait for it, on the thread's own queue."""
    thread.blocking = 1
    dev = copy.device
    if dev is None:
        thread.bytes, thread.direction = copy.count, H2H
        thread.clock.now += nominal_ns(process, "h2h", True, copy.count)
        copy.move(0)
        return
    stream = internal_stream(process, dev, thread)
    thread.device = stream.context.device
    task = copy.task(process, thread, lambda _time: copy.move(0))
    stream.submit(process, thread, task)
    wait(process, thread, lambda: task.done_at)
    failure = stream.error()
    if failure is not None:
        raise failure


def memcpy_async(
    process: Process, thread: HostThread, dst: int, dst_max: int, src: int, count: int, kind: int, stream: Stream
) -> None:
    """Queue a copy on a stream. Where the kind does not fit two addresses whose sides the runtime knows, it goes by the
    addresses and says so in the log."""
    if nothing_to_do(dst, src, count):
        return
    try:
        copy = checked(process, dst, dst_max, src, count, kind)
    except NpuError:
        known = fitting(process, dst, src, kind)
        if known == kind:
            raise
        copy = checked(process, dst, dst_max, src, count, known)
        if process.log is not None:
            process.log(2, "RUNTIME", f"aclrtMemcpyAsync: kind {kind} does not fit its addresses, taken as {known}")
    queue_copy(process, thread, copy, stream)


def fitting(process: Process, dst: int, src: int, kind: int) -> int:
    """The kind that fits the addresses where both lie in memory the runtime gave out; else the kind as it is."""
    if kind not in (H2D, D2H, D2D, H2H):
        return kind
    sides = []
    for address in (src, dst):
        dev = process.devices.get(peer.number(address)) if address >= BASE else None
        if dev is not None and dev.find(address) is not None:
            sides.append(True)
        elif address < BASE and host.pinned(process).find(address) is not None:
            sides.append(False)
        else:
            return kind
    return (2 if sides[0] else 0) + (1 if sides[1] else 0)


def queue_copy(process: Process, thread: HostThread, copy: Copy, stream: Stream) -> None:
    """Pageable host memory is not touched after the call: H2D from it is staged now, D2H into it waits for its stream."""
    if copy.direction == H2D and copy.host_kind == PAGEABLE:
        staged = copy.stage()
        thread.clock.now += nominal_ns(process, "h2h", True, copy.count)
        stream.submit(process, thread, copy.task(process, thread, lambda _time: copy.move(staged.address)))
        return
    task = copy.task(process, thread, lambda _time: copy.move(0))
    stream.submit(process, thread, task)
    if copy.direction == D2H and copy.host_kind == PAGEABLE:
        thread.blocking = 1
        wait(process, thread, lambda: task.done_at)
