"""Device memory: addresses of a range of their own, a first-fit allocator, and backing that is committed when touched.

One reservation of the device's whole capacity is mapped without swap reservation, so 60 GiB can be allocated on a laptop;
device address minus base is the offset in it. Device addresses lie above 2^52, where no host address can be, so a pointer
of the wrong side is always caught. The upper half of a device's addresses is a window for memory whose bytes lie elsewhere:
mapped physical memory, and what another process shares.
"""

from __future__ import annotations

import ctypes
import mmap
from bisect import bisect_right
from dataclasses import dataclass, replace

from npu.device.task import Task
from npu.errors import NpuError

BASE = 1 << 52  # no process has host addresses there (x86-64 and arm64 user space end at 2^47 .. 2^52)
DEVICE_SHIFT = 44  # 16 TiB of addresses a device
PAGE = 4096
HUGE_PAGE = 2 << 20
ALIGN = 512
WINDOW = 1 << 43  # offset of the window: far above any capacity
MAP_NORESERVE = 0x4000  # Linux; Python's mmap names it only from 3.13 on


def device_of(address: int) -> int:
    """The device an address belongs to, or -1 when it is no device address at all."""
    return (address - BASE) >> DEVICE_SHIFT if address >= BASE else -1


@dataclass(slots=True)
class Block:
    """One live allocation. pages: how many of which size it holds; written: whether anything was ever written to it; media:
    memory of the media engine, which copies may name as device or as host memory alike; freed: it was given back; writer:
    the task queued last on a stream that writes to it, and from where to where (offsets)."""

    address: int
    size: int
    span: int  # bytes of address space it holds
    ordinal: int
    page: int
    pages: int
    site: str = ""
    written: bool = False
    media: bool = False
    freed: bool = False
    writer: tuple[Task, int, int] | None = None


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
        self._window = self.base + WINDOW  # next free address there
        self._pieces: dict[int, tuple[Block, int]] = {}  # in the window: block and where its bytes are, by address
        self._runs: list[Block] = []  # pieces that follow each other without a gap, as one block
        self._moved: dict[int, int] = {}  # blocks below the window whose bytes lie elsewhere: address -> process address
        self.used = 0  # bytes in pages
        self.changes = 0  # how often the set of live blocks has changed

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
            self.changes += 1
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
        self._moved.pop(address, None)
        block.freed = True
        self.changes += 1
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
        known = self._blocks.get(address)
        if known is not None:
            return known, 0
        if address >= self.base + WINDOW:
            return next(((r, address - r.address) for r in self._runs if 0 <= address - r.address < r.span), None)
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
        """The process address where the bytes of a device address really are. Maps the backing at the first use.

        NpuError not_device_memory for an address of the window to which nothing is attached any more."""
        if address >= self.base + WINDOW:
            for block, host in self._pieces.values():
                if 0 <= address - block.address < block.span:
                    return host + address - block.address
            raise NpuError("not_device_memory", pointer=address)
        if self._moved:
            found = self.find(address)
            if found is not None and found[0].address in self._moved:
                return self._moved[found[0].address] + found[1]
        if self._map is None:
            self._map = mmap.mmap(-1, self.capacity, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_NORESERVE)
            self._host = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        return self._host + address - self.base

    def window(self, size: int, align: int = HUGE_PAGE) -> int:
        """Addresses in the window that nobody else will get. They are no memory until something is attached there."""
        address = -(-self._window // align) * align
        self._window = address + size
        return address

    def attach(self, address: int, size: int, host: int) -> Block:
        """Make window addresses memory: their bytes are at the process address `host`."""
        block = Block(address, size, size, self._count, HUGE_PAGE, 0, written=True)
        self._count += 1
        self._pieces[address] = (block, host)
        self._join_runs()
        return block

    def detach(self, address: int) -> bool:
        """Take it back; False when nothing is attached there."""
        if self._pieces.pop(address, None) is None:
            return False
        self._join_runs()
        return True

    def move(self, address: int, host: int) -> None:
        """The bytes of the block at an address lie at the process address `host` from now on; they were copied there."""
        self._moved[address] = host

    def _join_runs(self) -> None:
        """Pieces whose addresses and bytes follow each other are one block: a copy may cross them."""
        self._runs = []
        self.changes += 1
        last_host = 0
        for address in sorted(self._pieces):
            block, host = self._pieces[address]
            run = self._runs[-1] if self._runs else None
            if run is not None and run.address + run.span == address and last_host == host:
                run.size, run.span = run.size + block.size, run.span + block.span
            else:
                self._runs.append(replace(block))
            last_host = host + block.span
