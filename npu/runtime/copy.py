"""Copies between host and device, and between devices. Data moves when its task ends."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from npu.device.memory import BASE
from npu.device.task import COPY, PLAIN, Row, Task
from npu.errors import NpuError
from npu.events import DIRECTIONS
from npu.plog.settings import WARNING
from npu.runtime import host, log_lines, peer
from npu.runtime.memory import internal_stream
from npu.runtime.process import Process
from npu.runtime.side import Side, nominal_ns
from npu.runtime.stream import Stream
from npu.runtime.thread import HostThread
from npu.runtime.wait import wait

H2H, H2D, D2H, D2D = range(4)
DEFAULT = 4  # kind: the addresses decide
KINDS = {0: H2H, 1: H2D, 2: D2H, 3: D2D, 5: H2D, 6: D2D, 7: D2D}  # aclrtMemcpyKind
PAGEABLE, PINNED = 0, 1
MOST_CHECKED = 1024  # copies that are remembered


class Copy:
    """A checked copy: both ends, direction, and how its bytes move. dst_reach, src_reach: bytes from the start of each side to
    behind its last byte (more than count for copies of rows)."""

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
        self.device = self.dst.dev or self.src.dev  # whose engines do it; None between host addresses
        name = DIRECTIONS[direction]
        self.engine = "link" if self.between else "" if direction == H2H else name
        pageable = self.host_kind == PAGEABLE or direction == H2H
        self.nominal = nominal_ns(process, "peer" if self.between else name, pageable, count)
        self._told: Row | None = None
        self._changes = -1 if self.device is None else self.device.changes, process.pinned.changes

    def holds(self, process: Process) -> bool:
        """Whether a new check of a copy between page-locked and device memory would find the same."""
        return self.device is not None and self._changes == (self.device.changes, process.pinned.changes)

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
        row = PLAIN
        if recording.on:
            thread.correlation = recording.correlation()
            thread.bytes, thread.direction, thread.host_kind = self.count, self.direction, self.host_kind
            if process.hazards is not None:
                process.hazards.expect(*self.accesses())
            row = self._told or self._tell(process)
        task = Task(COPY, self.nominal, row, engine=self.engine, on_done=action)
        task.correlation = thread.correlation
        return task

    def arrive(self, _time: int) -> None:
        """Its end on the device: the bytes move now."""
        self.move(0)

    def _tell(self, process: Process) -> Row:
        """What is recorded of it, made once for all copies alike."""
        recording = process.recording
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
        self._told = recording.rows.get(key) or recording.keep(key, self.row(process))
        return self._told

    def spans(self, pitch: int) -> list[tuple[int, int]]:
        """(offset, bytes) of the pieces it moves on a side; pitch: of that side, for copies of rows."""
        return [(0, self.count)]

    def accesses(self) -> tuple[list[tuple[Side, list[tuple[int, int]]]], list[tuple[Side, list[tuple[int, int]]]]]:
        """What it reads and what it writes."""
        return [(self.src, self.spans(1))], [(self.dst, self.spans(0))]

    def row(self, process: Process) -> Row:
        """What is recorded of it."""
        reads, writes = self.src.range(self.count), self.dst.range(self.count)
        return process.recording.row("MEMCPY_ASYNC", -1, reads, writes, self.count, self.direction, self.host_kind)


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
    """Whether a copy moves nothing: no bytes, or onto itself."""
    return count == 0 or (dst == src and dst != 0)


def memcpy(process: Process, thread: HostThread, dst: int, dst_max: int, src: int, count: int, kind: int) -> None:
    """Copy and wait for it. Not ordered with streams: a buffer that a running task has not written yet gives its old bytes."""
    if nothing_to_do(dst, src, count):
        return
    try:
        copy = checked(process, dst, dst_max, src, count, kind)
    except NpuError:
        if kind != D2H or not _from_host(process, dst, src):
            raise
        copy = checked(process, dst, dst_max, src, count, H2H)
        process.log(WARNING, "RUNTIME", f"aclrtMemcpy: kind {kind} does not fit its addresses, taken as {H2H}")
    do_now(process, thread, copy)


def do_now(process: Process, thread: HostThread, copy: Copy) -> None:
    """A copy and the wait for it, on the thread's own queue."""
    thread.blocking = 1
    dev = copy.device
    if dev is None:
        thread.bytes, thread.direction = copy.count, H2H
        thread.clock.now += nominal_ns(process, "h2h", True, copy.count)
        if process.hazards is not None:
            process.hazards.host_access(*copy.accesses())
        copy.move(0)
        if process.hazards is not None:
            process.hazards.host_wrote()
        return
    stream = internal_stream(process, dev, thread)
    thread.device = stream.context.device
    task = copy.task(process, thread, copy.arrive)
    writer = copy.src.writer(copy.count)
    stream.submit(process, thread, task)
    wait(process, thread, lambda: task.done_at)
    if writer is not None and (writer.done_at < 0 or writer.done_at > task.done_at):
        log_lines.stale(process, copy.src.address, copy.count, writer.stream)
    if process.hazards is not None:
        process.hazards.joined(task)
    failure = stream.error()
    if failure is not None:
        raise failure


def memcpy_async(
    process: Process, thread: HostThread, dst: int, dst_max: int, src: int, count: int, kind: int, stream: Stream
) -> None:
    """Queue a copy on a stream. Where the kind does not fit two addresses whose sides the runtime knows, it goes by the
    addresses and says so in the log."""
    key = dst, dst_max, src, count, kind
    known: Copy | None = process.checked.get(key)
    if known is not None and known.holds(process):
        queue_copy(process, thread, known, stream)
        return
    if nothing_to_do(dst, src, count):
        return
    try:
        copy = checked(process, dst, dst_max, src, count, kind)
    except NpuError:
        fits = fitting(process, dst, src, kind)
        if fits == kind:
            raise
        copy = checked(process, dst, dst_max, src, count, fits)
        process.log(WARNING, "RUNTIME", f"aclrtMemcpyAsync: kind {kind} does not fit its addresses, taken as {fits}")
    else:
        if copy.host_kind == PINNED:
            if len(process.checked) >= MOST_CHECKED:
                process.checked.clear()
            process.checked[key] = copy
    queue_copy(process, thread, copy, stream)


def _from_host(process: Process, dst: int, src: int) -> bool:
    """Whether a copy "from the device" starts in host memory the runtime gave out and stays on the host: the driver's synchronous
    copy takes no kind and goes by the addresses (hicann/runtime npu_driver_mem.cc, MemCopySyncAdapter), and samples of memory
    handling rely on it. A target that had to be device memory and is not stays an error."""
    return dst < BASE and src < BASE and host.pinned(process).find(src) is not None


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
        task = copy.task(process, thread, lambda _time: copy.move(staged.address))
        stream.submit(process, thread, task)
        if copy.dst.block is not None:
            copy.dst.block.writer = task, copy.dst.offset, copy.dst.offset + copy.count
        return
    task = copy.task(process, thread, copy.arrive)
    stream.submit(process, thread, task)
    if copy.dst.block is not None:
        copy.dst.block.writer = task, copy.dst.offset, copy.dst.offset + copy.count
    if copy.direction == D2H and copy.host_kind == PAGEABLE:
        thread.blocking = 1
        wait(process, thread, lambda: task.done_at)
        if process.hazards is not None:
            process.hazards.joined(task)
