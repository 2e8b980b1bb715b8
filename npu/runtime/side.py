"""One end of a copy or one buffer of a kernel: a live device block with offset, or host memory, pinned or pageable."""

from __future__ import annotations

import ctypes

from npu.cost import copy_ns
from npu.device.memory import BASE, DEVICE_SHIFT, Block
from npu.device.task import Task
from npu.driver.door import Handle
from npu.errors import NpuError
from npu.runtime import host
from npu.runtime.process import Process


def on_device(address: int) -> bool:
    """Whether an address can only be device memory."""
    return address >= BASE


def nominal_ns(process: Process, direction: str, pageable: bool, count: int) -> int:
    """Device time of an uncontended copy of `count` bytes on this process's chip; its rates are looked up once."""
    rate = process.rates.get((direction, pageable))
    if rate is None:
        cost = copy_ns(0, direction, "pageable" if pageable else "pinned", process.machine.chip)
        rate = process.rates[direction, pageable] = (cost.latency_ns, cost.bytes_per_ns)
    return rate[0] + round(count / rate[1])


class Side:
    """So many bytes at an address. They are checked when it is made: NpuError not_device_memory, wrong_side, overrun. pinned: the
    runtime owns all of the host memory, so it is safe to touch; memory keeps that alive. dev is None for host memory. kernel: a
    kernel uses it, not a copy."""

    __slots__ = ("address", "block", "dev", "kernel", "memory", "offset", "pinned")

    def __init__(self, process: Process, address: int, count: int, on_device: bool, kernel: bool = False) -> None:
        self.address, self.kernel = address, kernel
        self.block: Block | None = None
        self.dev: Handle | None = None
        self.memory: object = None
        self.pinned = True
        self.offset = 0
        if address >= BASE:
            dev = process.devices.get((address - BASE) >> DEVICE_SHIFT)
            found = dev.find(address) if dev is not None else None
            if found is None:
                fate = process.gone.fate(address)
                raise NpuError("not_device_memory" if on_device else "wrong_side", pointer=address, bytes=count, fate=fate)
            self.block, self.offset = found
            if not on_device and not self.block.media:
                raise NpuError("wrong_side", pointer=address, bytes=count)
            if self.offset + count > self.block.span:
                raise NpuError("overrun", pointer=address, bytes=count, allocated=self.block.size - self.offset)
            self.dev = dev
            return
        known = process.pinned.find(address)
        if on_device and (known is None or not process.pinned.is_mapped(known[0])):
            raise NpuError("not_device_memory", pointer=address, bytes=count, fate="it is a host address")
        if known is None or address + count > known[0] + known[1]:
            self.pinned = False  # what runs over the end of a block is the script's as any other: nobody knows what lies there
        else:
            self.memory = known[2]

    @property
    def guarded(self) -> bool:
        """Whether the memory belongs to the script, so that a plain access could end the interpreter."""
        return self.dev is None and self.memory is None

    @property
    def text(self) -> str:
        """How a row names this buffer: allocation+offset; "" for host memory."""
        return "" if self.block is None else f"{self.block.ordinal}+{self.offset}"

    def range(self, count: int) -> str:
        """How a row names that many bytes of it."""
        return "" if self.block is None else f"{self.block.ordinal}+{self.offset}:{count}"

    def place(self) -> int:
        """The process address of the bytes. NpuError freed_in_flight or freed_under_kernel: they were given back meanwhile."""
        if self.dev is None:
            return self.address
        if self.block is not None and self.block.freed:
            situation = "freed_under_kernel" if self.kernel else "freed_in_flight"
            raise NpuError(situation, pointer=self.address, size=self.block.size)
        return self.dev.place(self.address)

    def written_by(self, task: Task, count: int) -> None:
        """A queued task will write that many bytes."""
        if self.block is not None:
            self.block.writer = (task, self.offset, self.offset + count)

    def writer(self, count: int) -> Task | None:
        """The task queued last on a stream that writes into that many bytes, unless it has ended."""
        found = None if self.block is None else self.block.writer
        if found is None or found[0].done_at >= 0 or self.offset >= found[2] or self.offset + count <= found[1]:
            return None
        return found[0]

    def touched(self) -> None:
        """Note that something was written there."""
        if self.block is not None:
            self.block.written = True

    def read(self, count: int, offset: int = 0) -> bytes:
        """The bytes there now."""
        if not self.guarded:
            return ctypes.string_at(self.place() + offset, count)
        staged = host.Staged(count)
        host.read(staged.address, self.address + offset, count)
        return ctypes.string_at(staged.address, count)

    def write(self, data: bytes, offset: int = 0) -> None:
        """Put bytes there now."""
        self.touched()
        if not self.guarded:
            ctypes.memmove(self.place() + offset, data, len(data))
            return
        source = ctypes.create_string_buffer(data, len(data))
        host.write(self.address + offset, ctypes.addressof(source), len(data))
