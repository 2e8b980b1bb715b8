"""Memory of a static model: feature map by lifetimes, weights, workspace.

A result lives from its kernel to its last reader. Blocks are 512 bytes aligned and taken first-fit, biggest gap left as it is;
inputs and outputs of the model lie outside (zero copy).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

ALIGN = 512


@dataclass(frozen=True, slots=True)
class Lifetime:
    """A block of bytes that is needed from step first to step last, both included."""

    bytes: int
    first: int
    last: int


def aligned(count: int) -> int:
    return -(-count // ALIGN) * ALIGN


def feature_map(blocks: Sequence[Lifetime], reuse: bool = True) -> tuple[int, int]:
    """(bytes of the feature map, bytes that reuse saved against one place per block)."""
    total = sum(aligned(b.bytes) for b in blocks)
    if not reuse:
        return total, 0
    placed: list[tuple[int, int, Lifetime]] = []  # start, end, who
    highest = 0
    for block in sorted(blocks, key=lambda b: (b.first, -b.bytes)):
        size = aligned(block.bytes)
        start = 0
        for taken_start, taken_end, other in sorted(placed, key=lambda p: p[0]):
            if other.last < block.first or other.first > block.last:
                continue
            if start + size <= taken_start:
                break
            start = max(start, taken_end)
        placed.append((start, start + size, block))
        placed = [p for p in placed if p[2].last >= block.first]
        highest = max(highest, start + size)
    return highest, total - highest
