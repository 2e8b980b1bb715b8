"""Device memory of tensors: a caching allocator over the driver, with the block sizes of PyTorch's own.

1. A request is rounded up to 512 bytes. Up to 1 MiB it comes from segments of 2 MiB; up to 10 MiB from segments of 20 MiB; larger
   ones get a segment of their own, rounded up to 2 MiB (c10 CachingAllocator: kSmallSize, kSmallBuffer, kLargeBuffer,
   kMinLargeAlloc,
   kRoundLarge; torch_npu takes the same figures).
2. The smallest free block of the stream's pool that fits is taken, and its rest stays free when it is worth keeping.
3. A block is free again at once when its tensor dies; neighbours of one segment join.
4. Where the driver refuses, segments that are wholly free are given back and the driver is asked once more.

The bytes of tensors lie in host memory; what the driver gives here are addresses and the count of what is used.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import dataclass

from npu.units import MIB

ROUND = 512
SMALL, SMALL_SEGMENT = 1 * MIB, 2 * MIB
LARGE, LARGE_SEGMENT, ROUND_LARGE = 10 * MIB, 20 * MIB, 2 * MIB


@dataclass(slots=True, eq=False)
class Block:
    """A piece of a segment. pool: stream ordinal and whether of small segments; before and after: neighbours in the segment.
    born: ns of its allocation; segment: the address the driver gave."""

    address: int
    size: int
    pool: tuple[int, bool]
    segment: int
    free: bool = False
    before: Block | None = None
    after: Block | None = None
    wanted: int = 0

    @property
    def whole(self) -> bool:
        """Whether it is all of its segment."""
        return self.before is None and self.after is None


def rounded(size: int) -> int:
    return (size + ROUND - 1) & -ROUND or ROUND


def segment_size(size: int) -> int:
    """Bytes the driver is asked for when no block fits."""
    if size <= SMALL:
        return SMALL_SEGMENT
    return LARGE_SEGMENT if size < LARGE else -(-size // ROUND_LARGE) * ROUND_LARGE


class Cache:
    """Blocks of one device. Sizes in bytes: allocated (in use), reserved (held from the driver), each with its peak; limit: of
    reserved, 0 for none."""

    def __init__(self) -> None:
        self._free: dict[tuple[int, bool], list[tuple[int, int, Block]]] = {}  # by pool: (size, address, block), sorted
        self.allocated = self.reserved = self.peak_allocated = self.peak_reserved = 0
        self.limit = 0
        self.segments = self.count = self.retries = self.ooms = 0

    def take(self, size: int, stream: int) -> Block | None:
        """A block from what is held already; None when a segment has to be added first."""
        need = rounded(size)
        small = need <= SMALL
        free = self._free.get((stream, small))
        if not free:
            return None
        at = bisect_left(free, (need,))
        if at == len(free):
            return None
        block = free.pop(at)[2]
        if block.size - need >= (ROUND if small else SMALL + 1):
            after = block.after
            rest = Block(block.address + need, block.size - need, block.pool, block.segment, True, block, after)
            if after is not None:
                after.before = rest
            block.after, block.size = rest, need
            insort(free, (rest.size, rest.address, rest))
        block.free, block.wanted = False, size
        self.allocated += block.size
        self.count += 1
        if self.allocated > self.peak_allocated:
            self.peak_allocated = self.allocated
        return block

    def add(self, address: int, size: int, small: bool, stream: int) -> None:
        """A segment from the driver."""
        self.reserved += size
        self.peak_reserved = max(self.peak_reserved, self.reserved)
        self.segments += 1
        block = Block(address, size, (stream, small), address, True)
        insort(self._free.setdefault(block.pool, []), (size, address, block))

    def give(self, block: Block) -> None:
        """A block whose tensor has died."""
        self.allocated -= block.size
        free = self._free[block.pool]
        after, before = block.after, block.before
        if after is not None and after.free:
            del free[bisect_left(free, (after.size, after.address))]
            block.size += after.size
            block.after = after.after
            if block.after is not None:
                block.after.before = block
        if before is not None and before.free:
            del free[bisect_left(free, (before.size, before.address))]
            before.size += block.size
            before.after = block.after
            if before.after is not None:
                before.after.before = before
            block = before
        block.free = True
        insort(free, (block.size, block.address, block))

    def unused(self) -> list[tuple[int, int]]:
        """Take out all segments that are wholly free: (address, bytes), for the driver."""
        given = []
        for free in self._free.values():
            given += [(block.address, block.size) for _, _, block in free if block.whole]
            free[:] = [entry for entry in free if not entry[2].whole]
        self.reserved -= sum(size for _, size in given)
        self.segments -= len(given)
        return given
