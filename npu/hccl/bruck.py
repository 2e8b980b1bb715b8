"""NB (Bruck): ceil(log2 p) steps for any p; in step k each rank passes on the first 2^k slices it holds, counted from its own."""

from __future__ import annotations

from collections.abc import Sequence

from npu.hccl.nhr import steps_of
from npu.hccl.transfer import Step, Steps, moved, split


def all_gather(ranks: Sequence[int], at: int, size: int) -> Steps:
    """Step k: rank i sends slices i .. i + 2^k - 1 (as far as the receiver lacks them) to i - 2^k."""
    p = len(ranks)
    slices = split(at, size, p)
    steps: Steps = []
    for k in range(steps_of(p)):
        count = min(1 << k, p - (1 << k))
        step: Step = []
        for i in range(p):
            step += moved(ranks[i], ranks[(i - (1 << k)) % p], [slices[(i + j) % p] for j in range(count)])
        steps.append(step)
    return steps


def reduce_scatter(ranks: Sequence[int], at: int, size: int) -> Steps:
    """The all-gather backwards, adding up."""
    return [[t._replace(src=t.dst, dst=t.src, reduce=True) for t in step] for step in reversed(all_gather(ranks, at, size))]


def all_reduce(ranks: Sequence[int], at: int, size: int) -> Steps:
    """Reduce-scatter, then all-gather."""
    return reduce_scatter(ranks, at, size) + all_gather(ranks, at, size)
