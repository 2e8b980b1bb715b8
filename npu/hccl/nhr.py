"""NHR: p trees on a ring, ceil(log2 p) steps for any p, traffic to near ranks first.

Reduce-scatter, step k: rank i sends to i - 2^k the slices i - 2^k, i - 2^k - 2^(k+1), ..., floor((p - 1 + 2^k) / 2^(k+1)) of them
(indices modulo p). All-gather is the same backwards.
"""

from __future__ import annotations

from collections.abc import Sequence

from npu.hccl.transfer import Step, Steps, moved, split


def steps_of(p: int) -> int:
    """ceil(log2 p)."""
    return (p - 1).bit_length()


def _indices(target: int, k: int, p: int) -> list[int]:
    count = (p - 1 + (1 << k)) >> (k + 1)
    return [(target - j * (1 << (k + 1))) % p for j in range(count)]


def reduce_scatter(ranks: Sequence[int], at: int, size: int) -> Steps:
    """Rank i of the list ends with slice i reduced: ceil(log2 p) steps. at, size: bytes."""
    p = len(ranks)
    slices = split(at, size, p)
    steps: Steps = []
    for k in range(steps_of(p)):
        step: Step = []
        for i in range(p):
            target = (i - (1 << k)) % p
            step += moved(ranks[i], ranks[target], [slices[j] for j in _indices(target, k, p)], reduce=True)
        steps.append(step)
    return steps


def all_gather(ranks: Sequence[int], at: int, size: int) -> Steps:
    """Rank i starts with slice i, all end with all. at, size: bytes."""
    p = len(ranks)
    slices = split(at, size, p)
    steps: Steps = []
    for k in reversed(range(steps_of(p))):
        step: Step = []
        for i in range(p):
            step += moved(ranks[i], ranks[(i + (1 << k)) % p], [slices[j] for j in _indices(i, k, p)])
        steps.append(step)
    return steps


def all_reduce(ranks: Sequence[int], at: int, size: int) -> Steps:
    """Reduce-scatter, then all-gather."""
    return reduce_scatter(ranks, at, size) + all_gather(ranks, at, size)


def scatter(ranks: Sequence[int], at: int, size: int) -> Steps:
    """From the first rank down a binomial tree, halving what is passed on: ceil(log p) a + (p - 1)/p n b."""
    p = len(ranks)
    slices = split(at, size, p)
    steps: Steps = []
    for k in reversed(range(steps_of(p))):
        reach = 1 << k
        step: Step = []
        for i in range(0, p, 2 * reach):
            if i + reach < p:
                step += moved(ranks[i], ranks[i + reach], slices[i + reach : i + 2 * reach])
        steps.append(step)
    return steps


def broadcast(ranks: Sequence[int], at: int, size: int) -> Steps:
    """Scatter, then all-gather: 2 ceil(log p) a + 2 (p - 1)/p n b."""
    return scatter(ranks, at, size) + all_gather(ranks, at, size)
