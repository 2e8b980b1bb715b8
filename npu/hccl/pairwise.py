"""All-to-all. Pairwise: step k, every rank sends to i + k and receives from i - k. Mesh: all at once.

`counts[i][j]` elements go from rank i to rank j; each rank's send buffer holds them in order of the receiver, its receive buffer
in order of the sender (other places: the caller moves them)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from npu.hccl.transfer import Step, Steps, Transfer

Counts = Sequence[Sequence[int]]


def _one(ranks: Sequence[int], counts: Counts, i: int, j: int, sent: list[list[int]], got: list[list[int]]) -> Step:
    size = counts[i][j]
    return [Transfer(ranks[i], ranks[j], sent[i][j], got[j][i], size)] if size else []


def _places(counts: Counts) -> tuple[list[list[int]], list[list[int]]]:
    """Offsets in the send buffers [i][j] and in the receive buffers [j][i]."""
    p = len(counts)
    sent = [[0, *accumulate(row)][:p] for row in counts]
    got = [[0, *accumulate(counts[i][j] for i in range(p))][:p] for j in range(p)]
    return sent, got


def pairwise(ranks: Sequence[int], counts: Counts) -> Steps:
    """p - 1 steps and one for what a rank sends to itself."""
    p = len(ranks)
    sent, got = _places(counts)
    return [[t for i in range(p) for t in _one(ranks, counts, i, (i + k) % p, sent, got)] for k in range(p)]


def mesh(ranks: Sequence[int], counts: Counts) -> Steps:
    """Everything in one step."""
    p = len(ranks)
    sent, got = _places(counts)
    return [[t for i in range(p) for j in range(p) for t in _one(ranks, counts, i, j, sent, got)]]
