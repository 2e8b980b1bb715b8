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
    return max(-(-size // ROUND) * ROUND, ROUND)


def segment_size(size: int) -> int:
    """Bytes the driver is asked for when no block fits."""
    if size <= SMALL:
        return SMALL_SEGMENT
    return LARGE_SEGMENT if size < LARGE else -(-size // ROUND_LARGE) * ROUND_LARGE


class Cache:
    """Blocks of one device. Sizes in bytes: allocated (in use), reserved (held from the driver), each with its peak; limit: of
    reserved, 0 for none."""

    def __init__(self) -> None:
        self._free: dict[tuple[int, bool], list[tuple[int, int]]] = {}  # by pool: (size, address), sorted
        self._blocks: dict[int, Block] = {}  # free ones by address
        self.allocated = self.reserved = self.peak_allocated = self.peak_reserved = 0
        self.limit = 0
        self.segments = self.count = self.retries = self.ooms = 0

    def take(self, size: int, stream: int) -> Block | None:
        """A block from what is held already; None when a segment has to be added first."""
        need = rounded(size)
        pool = (stream, need <= SMALL)
        free = self._free.get(pool)
        if not free:
            return None
        at = bisect_left(free, (need, 0))
        if at == len(free):
            return None
        _, address = free.pop(at)
        block = self._blocks.pop(address)
        rest = block.size - need
        if rest >= (ROUND if pool[1] else SMALL + 1):
            self._split(block, need)
        block.free, block.wanted = False, size
        self.allocated += block.size
        self.count += 1
        self.peak_allocated = max(self.peak_allocated, self.allocated)
        return block

    def add(self, address: int, size: int, small: bool, stream: int) -> None:
        """A segment from the driver."""
        self.reserved += size
        self.peak_reserved = max(self.peak_reserved, self.reserved)
        self.segments += 1
        self._put(Block(address, size, (stream, small), address))

    def give(self, block: Block) -> None:
        """A block whose tensor has died."""
        self.allocated -= block.size
        for other in (block.before, block.after):
            if other is not None and other.free:
                self._drop(other)
                first, second = (other, block) if other is block.before else (block, other)
                first.size += second.size
                first.after = second.after
                if second.after is not None:
                    second.after.before = first
                block = first
        self._put(block)

    def unused(self) -> list[tuple[int, int]]:
        """Take out all segments that are wholly free: (address, bytes), for the driver."""
        whole = [b for b in self._blocks.values() if b.whole]
        for block in whole:
            self._drop(block)
            self.reserved -= block.size
            self.segments -= 1
        return [(b.address, b.size) for b in whole]

    def _split(self, block: Block, size: int) -> None:
        rest = Block(block.address + size, block.size - size, block.pool, block.segment, before=block, after=block.after)
        if block.after is not None:
            block.after.before = rest
        block.after, block.size = rest, size
        self._put(rest)

    def _put(self, block: Block) -> None:
        block.free = True
        self._blocks[block.address] = block
        insort(self._free.setdefault(block.pool, []), (block.size, block.address))

    def _drop(self, block: Block) -> None:
        del self._blocks[block.address]
        free = self._free[block.pool]
        del free[bisect_left(free, (block.size, block.address))]
