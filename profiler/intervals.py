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
    few, many = (left, right) if len(left[0]) <= len(right[0]) else (right, left)
    first = np.searchsorted(many[1], few[0], side="right")  # of those that end behind its start
    count = np.searchsorted(many[0], few[1], side="left") - first  # those that begin before its end
    meets = np.flatnonzero(count)
    first, count = first[meets], count[meets]
    ends = np.cumsum(count)
    at = np.arange(int(ends[-1]) if len(ends) else 0)
    at += np.repeat(first - (ends - count), count)
    own = np.repeat(meets, count)
    starts, ends = np.maximum(few[0][own], many[0][at]), np.minimum(few[1][own], many[1][at])
    return Spans(starts.astype(np.int64, copy=False), ends.astype(np.int64, copy=False))


def subtract(left: tuple[Times, Times], right: tuple[Times, Times]) -> Spans:
    """The time in the left set and not in the right one."""
    limits = np.iinfo(np.int64)
    rest = np.concatenate(([limits.min], right[1])), np.concatenate((right[0], [limits.max]))
    return intersect(left, rest)


def gaps(spans: tuple[Times, Times], start: int, end: int) -> Spans:
    """The time of [start, end) that the set leaves free."""
    return subtract(union(np.array([start]), np.array([end])), spans)
