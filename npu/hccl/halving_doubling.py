"""Recursive halving and doubling (H-D_R): log p steps with partners at distance p/2, p/4 ...

Where p is no power of 2, r = p - 2^floor(log2 p) ranks hand their whole buffer to a partner first and get the result back at the
end: two more steps of n bytes, which makes 9 ranks dearer than 8 and than 16.
"""

from __future__ import annotations

from collections.abc import Sequence

from npu.hccl.transfer import Step, Steps, moved, split


def _power(p: int) -> int:
    return 1 << (p.bit_length() - 1)


def _rounds(p: int) -> list[int]:
    """Distances p/2, p/4 ... 1."""
    return [p >> (k + 1) for k in range(p.bit_length() - 1)]


def _keep(position: int, distance: int) -> tuple[int, int]:
    """First slice and number of slices that a position works on after the round of that distance."""
    return position // distance * distance, distance


def reduce_scatter(ranks: Sequence[int], at: int, size: int) -> Steps:
    """p a power of 2. In the round of distance d each rank sends the half its partner keeps."""
    p = len(ranks)
    slices = split(at, size, p)
    steps: Steps = []
    for distance in _rounds(p):
        step: Step = []
        for i in range(p):
            partner = i ^ distance
            first, count = _keep(partner, distance)
            step += moved(ranks[i], ranks[partner], slices[first : first + count], reduce=True)
        steps.append(step)
    return steps


def all_gather(ranks: Sequence[int], at: int, size: int) -> Steps:
    """p a power of 2: the same rounds backwards; each rank sends all it has."""
    p = len(ranks)
    slices = split(at, size, p)
    steps: Steps = []
    for distance in reversed(_rounds(p)):
        step: Step = []
        for i in range(p):
            first, count = _keep(i, distance)
            step += moved(ranks[i], ranks[i ^ distance], slices[first : first + count])
        steps.append(step)
    return steps


def all_reduce(ranks: Sequence[int], at: int, size: int) -> Steps:
    """Any number of ranks."""
    p = len(ranks)
    extra = p - _power(p)
    pairs = [(ranks[2 * i], ranks[2 * i + 1]) for i in range(extra)]
    core = [even for even, _ in pairs] + list(ranks[2 * extra :])
    fold = [t for even, odd in pairs for t in moved(odd, even, [(at, size)], reduce=True)]
    back = [t for even, odd in pairs for t in moved(even, odd, [(at, size)])]
    inner = reduce_scatter(core, at, size) + all_gather(core, at, size)
    return [fold, *inner, back] if extra else inner


def broadcast(ranks: Sequence[int], at: int, size: int) -> Steps:
    """A binomial tree from the first rank: ceil(log p)(a + n b)."""
    p = len(ranks)
    steps: Steps = []
    reach = 1
    while reach < p:
        steps.append([t for i in range(min(reach, p - reach)) for t in moved(ranks[i], ranks[i + reach], [(at, size)])])
        reach *= 2
    return steps


def reduce(ranks: Sequence[int], at: int, size: int) -> Steps:
    """The tree backwards, adding up on the way to the first rank."""
    back = broadcast(ranks, at, size)
    return [[t._replace(src=t.dst, dst=t.src, reduce=True) for t in step] for step in reversed(back)]
