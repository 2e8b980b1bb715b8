"""What a collective consists of: steps, each a list of transfers that happen at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias


class Transfer(NamedTuple):
    """One piece from one rank's buffer to another's. Offsets and size in elements; reduce: the receiver adds to what it has."""

    src: int
    dst: int
    src_at: int
    dst_at: int
    size: int
    reduce: bool = False


Step: TypeAlias = list[Transfer]
Steps: TypeAlias = list[Step]


def split(at: int, size: int, parts: int) -> list[tuple[int, int]]:
    """(offset, size) of `parts` neighbouring slices of [at, at + size); the first ones are longer by one where it is uneven."""
    each, more = divmod(size, parts)
    slices = []
    for number in range(parts):
        length = each + (number < more)
        slices.append((at, length))
        at += length
    return slices


def moved(src: int, dst: int, slices: Sequence[tuple[int, int]], reduce: bool = False) -> Step:
    """Transfers of slices that keep their place in the buffer; empty slices are left out."""
    return [Transfer(src, dst, at, at, size, reduce) for at, size in slices if size]


def together(groups: Sequence[Steps]) -> Steps:
    """Several step lists that run at the same time, step by step."""
    longest = max((len(g) for g in groups), default=0)
    return [[t for g in groups if number < len(g) for t in g[number]] for number in range(longest)]
