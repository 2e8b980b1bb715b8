"""Mesh: all pairs at once, one step. For servers whose every pair of NPUs has a link of its own."""

from __future__ import annotations

from collections.abc import Sequence

from npu.hccl.transfer import Steps, moved, split


def reduce_scatter(ranks: Sequence[int], at: int, size: int) -> Steps:
    """Rank i of the list ends with slice i reduced: a + (p - 1)/p n b. at, size: bytes."""
    slices = split(at, size, len(ranks))
    return [[t for a in ranks for i, b in enumerate(ranks) if a != b for t in moved(a, b, [slices[i]], reduce=True)]]


def all_gather(ranks: Sequence[int], at: int, size: int) -> Steps:
    """Rank i starts with slice i, all end with all: a + (p - 1)/p n b. at, size: bytes."""
    slices = split(at, size, len(ranks))
    return [[t for i, a in enumerate(ranks) for b in ranks if a != b for t in moved(a, b, [slices[i]])]]


def all_reduce(ranks: Sequence[int], at: int, size: int) -> Steps:
    """Reduce-scatter, then all-gather."""
    return reduce_scatter(ranks, at, size) + all_gather(ranks, at, size)


def scatter(ranks: Sequence[int], at: int, size: int) -> Steps:
    """From the first rank of the list."""
    slices = split(at, size, len(ranks))
    return [[t for b, piece in zip(ranks[1:], slices[1:], strict=True) for t in moved(ranks[0], b, [piece])]]


def broadcast(ranks: Sequence[int], at: int, size: int) -> Steps:
    """Scatter, then all-gather: 2a + 2 n/p b."""
    return scatter(ranks, at, size) + all_gather(ranks, at, size)


def reduce(ranks: Sequence[int], at: int, size: int) -> Steps:
    """Reduce-scatter, then all slices to the first rank."""
    slices = split(at, size, len(ranks))
    gather = [t for a, piece in zip(ranks[1:], slices[1:], strict=True) for t in moved(a, ranks[0], [piece])]
    return [*reduce_scatter(ranks, at, size), gather]
