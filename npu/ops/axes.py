"""How a kernel along some axes of a tensor walks it: in rows that lie together, or step by step where other axes lie behind."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import prod


def across(dims: Sequence[int], axes: Collection[int]) -> tuple[int, int] | None:
    """(rows, steps): what lies before the axes, and how many vectors of what lies behind them follow one another.

    None where nothing larger than 1 lies behind the axes: then rows lie together. Reduced axes at the end are part of a vector:
    32 x 256 x 169 summed over the first and the last is 32 steps. Open dims (-1) count 1.
    """
    sides = [max(d, 1) for d in dims]
    kept = [i for i, d in enumerate(sides) if i not in axes and d > 1]
    stepped = [i for i in sorted(axes) if 0 <= i < len(sides) and sides[i] > 1 and kept and i < kept[-1]]
    if not stepped:
        return None
    return prod(sides[: stepped[0]]), prod(sides[i] for i in stepped)


def left_out(dims: Sequence[int], result: Sequence[int]) -> tuple[int, ...]:
    """The axes a reduction of a tensor to such a result took; where several would explain it, the last ones."""
    if len(dims) == len(result):
        return tuple(i for i, (d, r) in enumerate(zip(dims, result, strict=True)) if d != r)
    axes, left = [], list(result)
    for i, d in enumerate(dims):
        if left and left[0] == d:
            left.pop(0)
        else:
            axes.append(i)
    return tuple(axes) if not left else ()


PIECE_BYTES, ROW_BYTES = 128, 32  # what a transposition of the last axis moves at a time, and a transfer's unit


def together(dims: Sequence[int], order: Sequence[int], item: float) -> int:
    """Elements of `item` bytes that a transposition moves at a time: the axes that stay last, else a piece of 128 bytes, one
    element less where the last axis before or after is no multiple of 32 bytes. order: () where it is not known: a piece."""
    sides = [max(d, 1) for d in dims]
    moving = [i for i in order if sides[i] > 1] if sorted(order) == list(range(len(sides))) else []
    still = [i for i, d in enumerate(sides) if d > 1]
    kept = 1
    while moving and moving[-1] == still[-1]:
        kept *= sides[moving.pop()]
        still.pop()
    if kept > 1 or (not moving and order):
        return kept
    ends = [sides[i] for i in (*still[-1:], *moving[-1:])]
    piece = max(1, int(PIECE_BYTES // item))
    return piece if all(n * item % ROW_BYTES == 0 for n in ends) else max(1, piece - 1)


def order_of(dims: Sequence[int], result: Sequence[int]) -> tuple[int, ...]:
    """A transposition that makes one shape of another; equal lengths stay in their order. () where there is none."""
    free, order = list(range(len(dims))), []
    for side in result:
        at = next((i for i in free if dims[i] == side), None)
        if at is None:
            return ()
        free.remove(at)
        order.append(at)
    return tuple(order) if not free else ()
