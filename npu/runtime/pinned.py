"""Page-locked host memory: what the runtime owns and what a script has registered."""

from __future__ import annotations

import ctypes
import mmap
from bisect import bisect_right, insort
from collections.abc import Callable

from npu.errors import NpuError


class Pinned:
    """Page-locked host memory by address: what malloc_host gave and what host_register named."""

    def __init__(self) -> None:
        self._blocks: dict[int, tuple[int, mmap.mmap | None]] = {}
        self._starts: list[int] = []
        self.dropped: Callable[[int], None] | None = None  # hears of the start of a block that is no more
        self.changes = 0  # how often the set of blocks has changed
        self._mapped: set[int] = set()  # registered blocks the device may use by their own address

    def alloc(self, size: int) -> int:
        """New memory of the runtime's own; readable and writable by ctypes and numpy. NpuError host_memory."""
        try:
            memory = mmap.mmap(-1, max(1, size))
        except (OSError, OverflowError) as error:
            raise NpuError("host_memory", size=size) from error
        address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        self._add(address, size, memory)
        return address

    def register(self, address: int, size: int, mapped: bool) -> None:
        """Name memory of the script's. NpuError invalid_param, host_registered when it overlaps a block that is known."""
        if address == 0 or size == 0:
            raise NpuError("invalid_param", pointer=address, size=size)
        if self.find(address) is not None or self.find(address + size - 1) is not None:
            raise NpuError("host_registered", pointer=address, size=size)
        self._add(address, size, None)
        if mapped:
            self._mapped.add(address)

    def unregister(self, address: int) -> int:
        """Forget a registered block; its size. NpuError host_not_registered."""
        if address not in self._blocks or self._blocks[address][1] is not None:
            raise NpuError("host_not_registered", pointer=address)
        return self.drop(address)

    def is_mapped(self, start: int) -> bool:
        """Whether the device may use the block that starts there by its own address."""
        return start in self._mapped

    def _add(self, address: int, size: int, memory: mmap.mmap | None) -> None:
        self._blocks[address] = (size, memory)
        insort(self._starts, address)
        self.changes += 1

    def drop(self, address: int) -> int:
        """Forget a block; its size. Arrays that view it keep the memory alive. NpuError invalid_param for no block's start."""
        if address not in self._blocks:
            raise NpuError("invalid_param", pointer=address, reason="no pinned host memory starts there")
        self._starts.remove(address)
        self.changes += 1
        self._mapped.discard(address)
        if self.dropped is not None:
            self.dropped(address)
        return self._blocks.pop(address)[0]

    def find(self, address: int) -> tuple[int, int, mmap.mmap | None] | None:
        """(start, size, memory) of the block an address lies in."""
        known = self._blocks.get(address)
        if known is not None:
            return address, known[0], known[1]
        at = bisect_right(self._starts, address) - 1
        if at < 0:
            return None
        start = self._starts[at]
        size, memory = self._blocks[start]
        return (start, size, memory) if address < start + max(1, size) else None
