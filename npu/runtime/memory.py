"""Device memory of a process: allocate, free, fill. Copies are npu.runtime.copy."""

from __future__ import annotations

import ctypes

from npu.cost import pages_ns
from npu.device.memory import BASE, DEVICE_SHIFT, HUGE_PAGE, Block
from npu.device.task import MEMSET, PLAIN, Task
from npu.driver.door import DriverError, Handle
from npu.errors import NpuError
from npu.events import MEMORY_EVENTS
from npu.runtime import host
from npu.runtime.context import Context, current, on
from npu.runtime.drain import drain
from npu.runtime.process import Process
from npu.runtime.side import Side, nominal_ns
from npu.runtime.stream import Stream
from npu.runtime.thread import HostThread
from npu.runtime.wait import wait

PADDING = 32
FREED = "it was freed before"
BIG = 1 << 20  # huge-page-first policies take huge pages for more than this
# policy -> True huge pages first, None huge pages only, False small pages only (aclrtMemMallocPolicy; the P2P forms alike)
POLICIES: dict[int, bool | None] = {0: True, 1: None, 2: False, 3: True, 4: None, 5: False, 6: None, 7: None}


def malloc(process: Process, thread: HostThread, size: int, policy: int, padding: int = PADDING, media: bool = False) -> int:
    """Address of new device memory: size rounded up to 32 bytes plus padding, pages by policy, mapped when the device is idle.

    media: of the media engine, both sides of a copy. NpuError invalid_param, no_context, no_memory, memory_limit."""
    if size == 0 or (policy & 0xFF) not in POLICIES:
        raise NpuError("invalid_param", size=size, policy=policy)
    context = current(thread)
    wanted = POLICIES[policy & 0xFF]
    span = -(-size // 32) * 32 + padding
    huge = wanted is None or (wanted and span > BIG)
    thread.device, thread.bytes = context.device, size
    limit = process.knobs.memory_limit
    if limit and context.dev.used() + span > limit:
        raise NpuError("memory_limit", size=size, limit=limit, held=context.dev.used())
    try:
        address = context.dev.alloc(span, huge)
    except DriverError as error:
        raise NpuError(error.situation, size=size, **error.facts) from error
    found = context.dev.find(address)
    if found is not None:
        found[0].media = media
        drain(process, thread, context.dev)
        thread.clock.now += _pages_ns("map", found[0])
        _note(process, thread, context, "alloc", found[0])
    return address


def free(process: Process, thread: HostThread, address: int) -> None:
    """Give device memory back. It is gone at once, also for tasks in flight; the call comes back when they have ended.

    NpuError invalid_param, free_failed."""
    if address == 0:
        raise NpuError("invalid_param", pointer=0)
    dev = device_at(process, address)
    found = dev.find(address) if dev is not None else None
    if dev is None or found is None or found[1] != 0:
        fate = process.gone.fate(address) if found is None else f"it lies {found[1]} bytes inside one"
        raise NpuError("free_failed", pointer=address, fate=fate)
    context = on(dev)[0]
    thread.device, thread.bytes = context.device, found[0].size
    _note(process, thread, context, "free", found[0])
    thread.clock.now += _pages_ns("unmap", found[0])
    if not dev.free(address):
        raise NpuError("free_failed", pointer=address, fate="mapped or shared memory is not freed by this call")
    process.gone.freed((address, found[0].span, FREED))
    drain(process, thread, dev)


def _pages_ns(work: str, block: Block) -> int:
    """Host time to map or unmap the pages of a block."""
    return pages_ns(block.pages, f"{work}_huge" if block.page == HUGE_PAGE else work)


def device_at(process: Process, address: int) -> Handle | None:
    """The open device an address belongs to; None for a host address or a device this process has not opened."""
    return process.devices.get((address - BASE) >> DEVICE_SHIFT) if address >= BASE else None


def _note(process: Process, thread: HostThread, context: Context, what: str, block: Block) -> None:
    if process.hazards is not None:
        tell = process.hazards.allocated if what == "alloc" else process.hazards.freed
        tell(context.dev.device, block)
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
            process.recording.text("DVPP" if block.media else "APP"),
            thread.site,
            MEMORY_EVENTS.index(what),
        )


def internal_stream(process: Process, dev: Handle, thread: HostThread) -> Stream:
    """Synchronous copies are not ordered with any stream: each thread has a queue of its own for them."""
    key = ("copies", thread.ordinal)
    found = dev.extra.get(key)
    if not isinstance(found, Stream):
        found = dev.extra[key] = Stream(process, on(dev)[0], internal=True)
    return found


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
    if address < BASE:
        source = host.Staged(count)
        ctypes.memset(source.address, value & 0xFF, count)
        if process.hazards is not None:
            process.hazards.host_access((), [(Side(process, address, count, on_device=False), [(0, count)])])
        host.write(address, source.address, count)
        if process.hazards is not None:
            process.hazards.host_wrote()
        return
    side = Side(process, address, count, on_device=True)
    if side.dev is None:
        raise NpuError("not_device_memory", pointer=address)

    def fill(_time: int) -> None:
        side.touched()
        ctypes.memset(side.place(), value & 0xFF, count)

    recording = process.recording
    thread.correlation, thread.bytes = recording.correlation(), count
    row = recording.row("MEMSET", writes=side.range(count), count=count) if recording.on else PLAIN
    task = Task(MEMSET, nominal_ns(process, "d2d", False, count), row, engine="d2d", on_done=fill)
    task.correlation = thread.correlation
    if stream is not None:
        stream.submit(process, thread, task)
        return
    thread.blocking = 1
    queue = internal_stream(process, side.dev, thread)
    queue.submit(process, thread, task)
    wait(process, thread, lambda: task.done_at)
    if process.hazards is not None:
        process.hazards.joined(task)
