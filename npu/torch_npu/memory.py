"""Which device memory a tensor holds: from its first storage to the death of the last view of it."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial

import torch

from npu.errors import NpuError
from npu.events import MEMORY_EVENTS
from npu.runtime import memory as device_memory
from npu.runtime.process import Process
from npu.runtime.thread import HostThread
from npu.torch_npu import place
from npu.torch_npu.allocator import SMALL, Block, Cache, rounded, segment_size
from npu.units import GIB, MIB

ALLOC, FREE = MEMORY_EVENTS.index("alloc"), MEMORY_EVENTS.index("free")
COMPONENT = "PTA"
MOST_TEXTS = 1 << 16  # remembered texts of buffers
HUGE_FIRST = 0  # aclrtMemMallocPolicy

on_further: list[Callable[[], None]] = []  # what is done when a device other than 0 comes into use


class Held(weakref.ref[torch.UntypedStorage]):
    """A living storage and its block; dies with the storage, in whatever thread that happens."""

    __slots__ = ("block", "device", "key", "number")
    block: Block
    device: int
    key: int
    number: int


class Memory:
    """All tensors of the process. held: by the address of the storage's bytes; dead: storages that died since the last look."""

    def __init__(self) -> None:
        self.caches: dict[int, Cache] = {}
        self.held: dict[int, Held] = {}
        self.dead: deque[Held] = deque()
        self.ordinals: dict[int, int] = {}  # by the address of a segment: what the driver counts it as
        self.names: dict[tuple[int, ...], int] = {}  # texts of buffers by address and bytes
        self.sole = -1  # the only device with tensors; -2 when there are several
        self.count = 0

    def cache(self, device: int) -> Cache:
        found = self.caches.get(device)
        if found is None:
            found = self.caches[device] = Cache()
            self.sole = device if self.sole in (-1, device) else -2
            if device:
                for action in on_further:
                    action()
        return found


def of(process: Process) -> Memory:
    return process.one(Memory)


def hold(process: Process, thread: HostThread, tensor: torch.Tensor, device: int, stream: int, name: str = "") -> None:
    """Give a fresh npu tensor its device memory. torch.OutOfMemoryError as the framework words it."""
    storage = tensor.untyped_storage()
    size = storage.nbytes()
    if size == 0:
        return
    mine: Memory = process.one(Memory)
    key = storage.data_ptr()
    if mine.dead:
        reap(process, thread)
    known = mine.held.get(key)
    if known is not None and known() is not None:  # a storage that lies at a known address is one that is held already
        return
    cache = mine.caches.get(device) or mine.cache(device)
    block = cache.take(size, stream) or _more(process, thread, cache, size, device, stream)
    made = Held(storage, mine.dead.append)
    made.block, made.device, made.key, made.number = block, device, key, mine.count
    mine.count += 1
    mine.held[key] = made
    if process.recording.on:
        _note(process, thread, made, cache, block.size, ALLOC)


def _note(process: Process, thread: HostThread, held: Held, cache: Cache, size: int, event: int) -> None:
    recording = process.recording
    recording.memory(
        thread.clock.now, held.block.address, size, cache.allocated, cache.reserved, -1, held.number, held.device,
        recording.text(COMPONENT), thread.site, event,
    )  # fmt: skip


def reap(process: Process, thread: HostThread) -> None:
    """Give the blocks of dead storages back to their caches."""
    mine = of(process)
    dead, held = mine.dead, mine.held
    while dead:
        gone = dead.popleft()
        if held.get(gone.key) is gone:
            del held[gone.key]
        cache, size = mine.caches[gone.device], gone.block.size
        cache.give(gone.block)
        if process.recording.on:
            _note(process, thread, gone, cache, size, FREE)


def _more(process: Process, thread: HostThread, cache: Cache, size: int, device: int, stream: int) -> Block:
    """A block from a new segment; cached segments are given back first where the device is full."""
    need = rounded(size)
    wanted = segment_size(need)
    for again in (False, True):
        if not cache.limit or cache.reserved + wanted <= cache.limit:
            try:
                with process.lock:  # the driver may wait for the device
                    address = place.called(
                        process, thread, "aclrtMallocAlign32",
                        lambda: device_memory.malloc(process, thread, wanted, HUGE_FIRST, 0),
                    )
            except NpuError:
                pass
            else:
                cache.add(address, wanted, need <= SMALL, stream)
                segment = place.state(process).contexts[device].dev.find(address)
                of(process).ordinals[address] = -1 if segment is None else segment[0].ordinal
                if segment is not None:
                    segment[0].written = True  # tensors come and go in it: whether one was ever written is torch's to know
                made = cache.take(size, stream)
                assert made is not None
                return made
        if not again:
            cache.retries += 1
            empty(process, thread, device)
    cache.ooms += 1
    raise torch.OutOfMemoryError(_told(process, cache, size, device))


def refused(process: Process, thread: HostThread, size: int, device: int) -> str:
    """Why so many bytes cannot be had although the host was asked first: the device has not so many, or the host has not."""
    cache, where = of(process).cache(device), place.on(process, thread, device)
    if size > where.dev.memory_info(1)[0] + cache.reserved - cache.allocated:
        cache.ooms += 1
        return _told(process, cache, size, device)
    return (
        f"{_words(size)} fit on the simulated NPU {device}, but not in this host's memory, where the bytes of tensors are; "
        "use smaller tensors, or a host with more memory"
    )


def _told(process: Process, cache: Cache, size: int, device: int) -> str:
    free, total = place.state(process).contexts[device].dev.memory_info(1)
    return (
        f"NPU out of memory. Tried to allocate {_words(size)} (NPU {device}; {_words(total)} total capacity; "
        f"{_words(cache.allocated)} already allocated; {_words(cache.allocated)} current active; {_words(free)} free; "
        f"{_words(cache.reserved)} reserved in total by PyTorch) If reserved memory is >> allocated memory try setting "
        "max_split_size_mb to avoid fragmentation."
    )


def _words(size: int) -> str:
    return f"{size / GIB:.2f} GiB" if size >= GIB else f"{size / MIB:.2f} MiB"


def empty(process: Process, thread: HostThread, device: int) -> None:
    """Give segments that hold nothing back to the driver."""
    reap(process, thread)
    cache = of(process).cache(device)
    of(process).names.clear()
    for address, _ in cache.unused():
        with process.lock:
            place.called(process, thread, "aclrtFree", partial(device_memory.free, process, thread, address))


def named(process: Process, tensors: Iterable[torch.Tensor]) -> int:
    """The text by which a row names the bytes of tensors: "allocation+offset:bytes;...", each from the first to the last it can
    reach; nothing for one without memory."""
    mine: Memory = process.one(Memory)
    key: list[int] = []
    for tensor in tensors:
        held = mine.held.get(tensor.data_ptr())
        if held is None or not tensor.is_contiguous():
            return process.recording.text(";".join(filter(None, (_named(mine, t) for t in tensors))))
        key += held.block.address, tensor.nbytes
    spans = tuple(key)
    found = mine.names.get(spans)
    if found is None:
        if len(mine.names) >= MOST_TEXTS:
            mine.names.clear()
        found = mine.names[spans] = process.recording.text(";".join(filter(None, (_named(mine, t) for t in tensors))))
    return found


def _named(mine: Memory, tensor: torch.Tensor) -> str:
    held = mine.held.get(tensor.untyped_storage().data_ptr())
    if held is None or not tensor.numel():
        return ""
    block, size = held.block, tensor.element_size()
    reach = sum((length - 1) * stride for length, stride in zip(tensor.shape, tensor.stride(), strict=True)) + 1
    at = block.address - block.segment + tensor.storage_offset() * size
    return f"{mine.ordinals.get(block.segment, -1)}+{at}:{reach * size}"


def device_of(process: Process, tensor: torch.Tensor) -> int:
    """The logical device of an npu tensor; the current one for a tensor that holds no memory."""
    mine = of(process)
    if mine.sole >= 0:
        return mine.sole
    found = mine.held.get(tensor.untyped_storage().data_ptr())
    return place.seats.mine.device if found is None else found.device
