"""Streams of a static model: independent branches run side by side, events order them.

The critical stream 0 takes the longest path; another branch gets a stream of its own where the time it can overlap is worth the
two events (as the engine drops streams that gain nothing).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

MOST = 8
WORTH_NS = 10_000  # time a branch must be able to hide: two events cost about 3 us each (unverified)


@dataclass(frozen=True)
class Streams:
    """stream: of each kernel, numbered from 0 without holes. events: (kernel that records, kernel that waits)."""

    stream: tuple[int, ...]
    events: tuple[tuple[int, int], ...]


def assign(needs: Sequence[Sequence[int]], durations: Sequence[int], single: bool = False) -> Streams:
    """Streams for kernels in running order. needs: for each the earlier ones it depends on; durations in ns."""
    count = len(needs)
    if single or count < 3:
        return Streams((0,) * count, ())
    stream = _chains(needs, durations)
    kept = _worthwhile(stream, durations)
    numbers: dict[int, int] = {0: 0}
    placed = tuple(numbers.setdefault(kept.get(s, 0), len(numbers)) for s in stream)
    return Streams(placed, _events(placed, needs))


def _chains(needs: Sequence[Sequence[int]], durations: Sequence[int]) -> list[int]:
    """Each kernel continues the stream of the predecessor that ends last and that nothing has continued yet."""
    end = [0] * len(needs)
    tail: dict[int, int] = {}  # stream -> its last kernel
    stream: list[int] = []
    for at, before in enumerate(needs):
        end[at] = max((end[b] for b in before), default=0) + durations[at]
        open_ones = sorted((b for b in before if tail.get(stream[b]) == b), key=lambda b: -end[b])
        chosen = stream[open_ones[0]] if open_ones else len(tail)
        stream.append(chosen)
        tail[chosen] = at
    return stream


def _worthwhile(stream: Sequence[int], durations: Sequence[int]) -> Mapping[int, int]:
    """Which streams stay: those that hide enough time behind the others, the longest first; the rest goes to stream 0."""
    busy: dict[int, int] = {}
    for at, number in enumerate(stream):
        busy[number] = busy.get(number, 0) + durations[at]
    longest = max(busy, key=lambda s: busy[s])
    others = sorted((s for s in busy if s != longest and busy[s] >= WORTH_NS), key=lambda s: -busy[s])[: MOST - 1]
    return {longest: 0, **{s: number for number, s in enumerate(others, 1)}}


def _events(placed: Sequence[int], needs: Sequence[Sequence[int]]) -> tuple[tuple[int, int], ...]:
    """One event for each dependency that crosses streams and that no earlier event of the same pair already orders."""
    seen: dict[tuple[int, int], int] = {}
    made: list[tuple[int, int]] = []
    for at, before in enumerate(needs):
        for other in sorted(before, reverse=True):
            pair = (placed[other], placed[at])
            if pair[0] == pair[1] or seen.get(pair, -1) >= other:
                continue
            seen[pair] = other
            made.append((other, at))
    return tuple(made)
