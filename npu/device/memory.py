"""Device memory: addresses of a range of their own, a first-fit allocator, and backing that is committed when touched.

One reservation of the device's whole capacity is mapped without swap reservation, so 60 GiB can be allocated on a laptop;
device address minus base is the offset in it. Device addresses lie above 2^52, where no host address can be, so a pointer
of the wrong side is always caught.
"""

from __future__ import annotations

import ctypes
import mmap
from bisect import bisect_right
from dataclasses import dataclass

BASE = 1 << 52  # no process has host addresses there (x86-64 and arm64 user space end at 2^47 .. 2^52)
DEVICE_SHIFT = 44  # 16 TiB of addresses a device
PAGE = 4096
HUGE_PAGE = 2 << 20
ALIGN = 512
MAP_NORESERVE = 0x4000  # Linux; Python's mmap names it only from 3.13 on


def device_of(address: int) -> int:
    """The device an address belongs to, or -1 when it is no device address at all."""
    return (address - BASE) >> DEVICE_SHIFT if address >= BASE else -1


@dataclass(slots=True)
class Block:
    """One live allocation. pages: how many of which size it holds; written: whether anything was ever written to it."""

    address: int
    size: int
    span: int  # bytes of address space it holds
    ordinal: int
    page: int
    pages: int
    site: str = ""
    written: bool = False


class Memory:
    """The memory of one device as one process sees it. Capacity over all processes is the driver's business."""

    def __init__(self, device: int, capacity: int) -> None:
        self.base = BASE + (device << DEVICE_SHIFT)
        self.capacity = capacity
        self._starts: list[int] = []  # live blocks by address
        self._blocks: dict[int, Block] = {}
        self._free: list[tuple[int, int]] = [(0, capacity)]  # (offset, bytes), by offset, never adjacent
        self._map: mmap.mmap | None = None
        self._host = 0
        self._count = 0
        self.used = 0  # bytes in pages

    def alloc(self, size: int, page: int = PAGE, site: str = "") -> Block | None:
        """A block of at least size bytes, or None when no free range is large enough. First fit, by address."""
        align = HUGE_PAGE if page == HUGE_PAGE else ALIGN
        span = -(-size // align) * align
        for number, (offset, room) in enumerate(self._free):
            start = -(-offset // align) * align
            if start + span > offset + room:
                continue
            rest = [(offset, start - offset), (start + span, offset + room - start - span)]
            self._free[number : number + 1] = [r for r in rest if r[1]]
            block = Block(self.base + start, size, span, self._count, page, -(-span // page), site)
            self._count += 1
            self._starts.insert(bisect_right(self._starts, block.address), block.address)
            self._blocks[block.address] = block
            self.used += block.pages * page
            return block
        return None

    def free(self, address: int) -> Block | None:
        """Give a block back; None when no live block starts there."""
        block = self._blocks.pop(address, None)
        if block is None:
            return None
        self._starts.remove(address)
        self.used -= block.pages * block.page
        offset = address - self.base
        at = bisect_right(self._free, (offset, 0))
        self._free.insert(at, (offset, block.span))
        self._join(at)
        first = -(-offset // PAGE) * PAGE
        whole = (offset + block.span - first) // PAGE * PAGE
        if self._map is not None and whole >= HUGE_PAGE:  # small blocks stay committed: they are soon used again
            self._map.madvise(mmap.MADV_DONTNEED, first, whole)
        return block

    def _join(self, at: int) -> None:
        """Merge the free range at an index with its neighbours."""
        for left in (at, at - 1):
            if 0 <= left < len(self._free) - 1:
                (offset, room), (following, more) = self._free[left], self._free[left + 1]
                if offset + room == following:
                    self._free[left : left + 2] = [(offset, room + more)]

    def find(self, address: int) -> tuple[Block, int] | None:
        """The live block an address lies in and the offset within it; None when it lies in none."""
        at = bisect_right(self._starts, address) - 1
        if at < 0:
            return None
        block = self._blocks[self._starts[at]]
        offset = address - block.address
        return (block, offset) if offset < block.span else None

    def live(self) -> list[Block]:
        """All live blocks by address."""
        return [self._blocks[s] for s in self._starts]

    @property
    def largest_free(self) -> int:
        return max((room for _, room in self._free), default=0)

    def host(self, address: int) -> int:
        """The process address where the bytes of a device address really are. Maps the backing at the first use."""
        if self._map is None:
            self._map = mmap.mmap(-1, self.capacity, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_NORESERVE)
            self._host = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        return self._host + address - self.base
