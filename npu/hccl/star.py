"""Star: the root talks to all at once, one step of a + n b. For roots whose links to all are their own."""

from __future__ import annotations

from collections.abc import Sequence

from npu.hccl.transfer import Steps, moved, split


def broadcast(ranks: Sequence[int], at: int, size: int) -> Steps:
    """From the first rank of the list."""
    return [[t for rank in ranks[1:] for t in moved(ranks[0], rank, [(at, size)])]]


def reduce(ranks: Sequence[int], at: int, size: int) -> Steps:
    """To the first rank of the list."""
    return [[t for rank in ranks[1:] for t in moved(rank, ranks[0], [(at, size)], reduce=True)]]


def scatter(ranks: Sequence[int], at: int, size: int) -> Steps:
    """From the first rank: each gets its slice."""
    slices = split(at, size, len(ranks))
    return [[t for rank, piece in zip(ranks[1:], slices[1:], strict=True) for t in moved(ranks[0], rank, [piece])]]


def gather(ranks: Sequence[int], at: int, size: int) -> Steps:
    """To the first rank: its slice from each."""
    return [[t._replace(src=t.dst, dst=t.src) for t in step] for step in scatter(ranks, at, size)]
