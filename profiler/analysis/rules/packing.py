"""How several streams share the cores: kernels begin in the order in which they become ready, as soon as the cores they ask for
are free. What a device does, for one sequence of kernels repeated on every stream."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import NamedTuple

ROUNDS = 4  # times each stream runs the sequence; the first round alone would let all ask for the same cores at once


class Kernel(NamedTuple):
    """cube, vector: cores it holds. ns: how long. gap: idle time of its stream before it, ns."""

    cube: int
    vector: int
    ns: int
    gap: int


def stretch(kernels: Sequence[Kernel], streams: int, cube: int, vector: int) -> float:
    """How many times as long a sequence takes when `streams` of them run side by side on so many cores: 1 when there is room for
    all, `streams` when they take turns."""
    alone = sum(k.ns + k.gap for k in kernels)
    if not alone:
        return 1.0
    total = len(kernels) * ROUNDS
    waiting = [(kernels[0].gap, s, 0) for s in range(streams)]  # (ready, stream, number of its kernel)
    running: list[tuple[int, int, int]] = []  # (end, stream, number)
    now = 0
    while waiting or running:
        held: list[tuple[int, int, int]] = []
        for ready, stream, number in sorted(waiting):
            kernel = kernels[number % len(kernels)]
            if ready <= now and kernel.cube <= cube and kernel.vector <= vector:
                cube, vector = cube - kernel.cube, vector - kernel.vector
                heapq.heappush(running, (now + kernel.ns, stream, number))
            else:
                held.append((ready, stream, number))
        waiting = held
        later = [ready for ready, _, _ in waiting if ready > now]
        now = min([*later, *(end for end, _, _ in running[:1])])
        while running and running[0][0] <= now:
            end, stream, number = heapq.heappop(running)
            kernel = kernels[number % len(kernels)]
            cube, vector = cube + kernel.cube, vector + kernel.vector
            if number + 1 < total:
                waiting.append((end + kernels[(number + 1) % len(kernels)].gap, stream, number + 1))
    return max(1.0, now / (alone * ROUNDS))
