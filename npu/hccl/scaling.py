"""How data-parallel training scales: what of a step is left exposed when gradients are exchanged in buckets.

The backward pass is two thirds of the computation. Gradients become ready evenly over it, a bucket's all-reduce begins when its
last gradient is there and the exchange before it is done; the step ends when computation and exchange have.
"""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

from npu.hccl import scale

BACKWARD = 2 / 3  # of the computation: twice the work of the forward pass


class Point(NamedTuple):
    """A number of ranks. ns; exchange: all buckets; exposed: what the step takes beyond computation; alone: a step that
    exchanges all gradients after the backward pass in one piece."""

    ranks: int
    exchange: float
    exposed: float
    step: float
    alone: float

    @property
    def efficiency(self) -> float:
        """Computation's share of the step: 1 is perfect scaling."""
        return 1 - self.exposed / self.step if self.step else 1.0


class Training(NamedTuple):
    """compute: ns of one rank's step; gradients and bucket in bytes."""

    compute: float
    gradients: int
    bucket: int


def point(training: Training, family: str, servers: int, per_server: int, algo: str = "", servers_per_pod: int = 48) -> Point:
    """One number of ranks."""
    count = max(1, ceil(training.gradients / training.bucket))
    last = training.gradients - (count - 1) * training.bucket

    def all_reduce(size: int) -> float:
        return scale.duration("all_reduce", family, servers, per_server, size, algo, servers_per_pod) if size else 0.0

    whole, rest = all_reduce(min(training.bucket, training.gradients)), all_reduce(last)
    forward = training.compute * (1 - BACKWARD)
    free, exchange, ready_bytes = 0.0, 0.0, 0
    for number in range(count):
        size, cost = (training.bucket, whole) if number + 1 < count else (last, rest)
        ready_bytes += size
        ready = forward + training.compute * BACKWARD * (ready_bytes / training.gradients if training.gradients else 1)
        free = max(free, ready) + cost
        exchange += cost
    step = max(training.compute, free)
    return Point(servers * per_server, exchange, step - training.compute, step, training.compute + all_reduce(training.gradients))


def curve(
    training: Training, family: str, per_server: int, least: int = 8, most: int = 65536, algo: str = "", servers_per_pod: int = 48
) -> list[Point]:
    """Numbers of ranks from least to most, doubling."""
    made = []
    ranks = least
    while ranks <= most:
        servers = max(1, ranks // per_server)
        made.append(point(training, family, servers, min(ranks, per_server), algo, servers_per_pod))
        ranks *= 2
    return made
