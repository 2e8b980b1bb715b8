"""Ring: every rank sends to its neighbour, p - 1 steps of n / p. Meets the bandwidth bound, pays the latency of each step."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from npu.hccl.transfer import Steps, moved, split


def reduce_scatter(ranks: Sequence[int], at: int, size: int) -> Steps:
    """Rank i of the list ends with slice i reduced. Step k: it sends slice i - k - 1 to its successor."""
    p = len(ranks)
    slices = split(at, size, p)
    return [
        [t for i in range(p) for t in moved(ranks[i], ranks[(i + 1) % p], [slices[(i - k - 1) % p]], reduce=True)]
        for k in range(p - 1)
    ]


def all_gather(ranks: Sequence[int], at: int, size: int) -> Steps:
    """Rank i starts with slice i. Step k: it passes slice i - k on."""
    p = len(ranks)
    slices = split(at, size, p)
    return [[t for i in range(p) for t in moved(ranks[i], ranks[(i + 1) % p], [slices[(i - k) % p]])] for k in range(p - 1)]


def all_reduce(ranks: Sequence[int], at: int, size: int) -> Steps:
    """Reduce-scatter, then all-gather."""
    return reduce_scatter(ranks, at, size) + all_gather(ranks, at, size)


def broadcast(ranks: Sequence[int], at: int, size: int) -> Steps:
    """From the first rank of the list around the ring, whole: (p - 1)(a + n b)."""
    return [moved(a, b, [(at, size)]) for a, b in pairwise(ranks)]


def reduce(ranks: Sequence[int], at: int, size: int) -> Steps:
    """To the first rank of the list, against the ring."""
    backwards = ranks[::-1]
    return [moved(a, b, [(at, size)], reduce=True) for a, b in pairwise(backwards)]


def scatter(ranks: Sequence[int], at: int, size: int) -> Steps:
    """The first rank sends the slice of the farthest rank first; each passes on what is not its own: (p - 1)a + (p - 1)/p n b."""
    p = len(ranks)
    slices = split(at, size, p)
    steps: Steps = []
    for k in range(p - 1):
        step = []
        for hop in range(k + 1):  # the slice sent in step k - hop is now at position hop
            target = p - 1 - (k - hop)
            if hop < target:
                step += moved(ranks[hop], ranks[hop + 1], [slices[target]])
        steps.append(step)
    return steps
