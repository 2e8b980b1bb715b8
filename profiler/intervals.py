"""Sets of half-open time intervals [start, end) as sorted int64 arrays: union, intersection, difference, gaps.

Every set given or returned is sorted, free of overlaps, free of empty intervals, and touching intervals are joined; `union`
makes such a set from anything. All of it is vectorised: a sort and running sums, never a loop over intervals or time steps.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Times = NDArray[np.int64]


class Spans(NamedTuple):
    """A set of intervals; unpacks as (starts, ends)."""

    starts: Times
    ends: Times


def union(starts: NDArray[Any], ends: NDArray[Any]) -> Spans:
    """The time covered by at least one of the intervals, which may overlap, come in any order and be empty (start >= end)."""
    starts, ends = np.asarray(starts, np.int64), np.asarray(ends, np.int64)
    real = starts < ends
    if not real.all():
        starts, ends = starts[real], ends[real]
    if not len(starts):
        return Spans(starts, ends)
    if (starts[1:] < starts[:-1]).any():
        order = np.argsort(starts, kind="stable")
        starts, ends = starts[order], ends[order]
    reach = np.maximum.accumulate(ends)
    first = np.concatenate(([True], starts[1:] > reach[:-1]))  # nothing before it reaches this start
    last = np.concatenate((first[1:], [True]))
    return Spans(starts[first], reach[last])


def length(spans: tuple[Times, Times]) -> int:
    """Total time of a set, in the unit of its times."""
    starts, ends = spans
    return int((ends - starts).sum())


def inside(spans: tuple[Times, Times], starts: NDArray[Any], ends: NDArray[Any]) -> Times:
    """How much of the set lies in each of the given intervals, which may overlap; 0 for empty ones."""
    begun, ended = spans
    sums = np.concatenate((np.zeros(1, np.int64), np.cumsum(ended - begun)))

    def before(times: NDArray[Any]) -> Times:
        at = np.searchsorted(begun, times, side="right")
        over = np.maximum(ended[np.maximum(at - 1, 0)] - times, 0) if len(begun) else 0
        found: Times = sums[at] - np.where(at > 0, over, 0)
        return found

    found: Times = np.maximum(before(np.asarray(ends, np.int64)) - before(np.asarray(starts, np.int64)), 0)
    return found


def intersect(left: tuple[Times, Times], right: tuple[Times, Times]) -> Spans:
    """The time in both sets."""
    return _where(left, right, 3)


def subtract(left: tuple[Times, Times], right: tuple[Times, Times]) -> Spans:
    """The time in the left set and not in the right one."""
    return _where(left, right, 1)


def gaps(spans: tuple[Times, Times], start: int, end: int) -> Spans:
    """The time of [start, end) that the set leaves free."""
    return subtract(union(np.array([start]), np.array([end])), spans)


def _where(left: tuple[Times, Times], right: tuple[Times, Times], wanted: int) -> Spans:
    """Where the sweep line's state equals `wanted`: 1 = inside left only, 2 = inside right only, 3 = inside both."""
    times = np.concatenate((left[0], left[1], right[0], right[1])).astype(np.int64, copy=False)
    steps = np.repeat(np.array([1, -1, 2, -2], np.int64), [len(left[0]), len(left[1]), len(right[0]), len(right[1])])
    order = np.argsort(times, kind="stable")
    times, state = times[order], np.cumsum(steps[order])
    # Between two equal times the state is half-way through its changes; such intervals are empty and union drops them.
    held = np.flatnonzero(state[:-1] == wanted)
    return union(times[held], times[held + 1])
