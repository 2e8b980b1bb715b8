"""Sets of half-open time intervals [start, end) as sorted int64 arrays: union, intersection, difference, gaps.

Every set given or returned is sorted, free of overlaps, free of empty intervals, and touching intervals are joined; `union`
makes such a set from anything. All of it is vectorised: a sort and running sums, never a loop over intervals or time steps.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Times = NDArray[np.int64]
MANY = 4  # times as many intervals as the set has: then it pays to look only at those the set reaches


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
    starts, ends = np.asarray(starts, np.int64), np.asarray(ends, np.int64)
    if not len(spans[0]):
        return np.zeros(len(starts), np.int64)
    if MANY * len(spans[0]) < len(starts) and all((t[1:] >= t[:-1]).all() for t in (starts, ends)):
        found = np.zeros(len(starts), np.int64)
        meets = _meeting(spans, starts, ends)
        found[meets] = _inside(spans, starts[meets], ends[meets])
        return found
    return _inside(spans, starts, ends)


def _meeting(spans: tuple[Times, Times], starts: Times, ends: Times) -> NDArray[Any]:
    """Places of the intervals, which are sorted by both, that some interval of the set reaches into."""
    first = np.searchsorted(ends, spans[0], side="right")
    behind = np.maximum(np.searchsorted(starts, spans[1], side="left"), first)
    depth = np.zeros(len(starts) + 1, np.int32)
    np.add.at(depth, first, 1)
    np.add.at(depth, behind, -1)
    return np.flatnonzero(np.cumsum(depth[:-1]))


def _inside(spans: tuple[Times, Times], starts: Times, ends: Times) -> Times:
    begun, ended = spans
    sums = np.concatenate((np.zeros(1, np.int64), np.cumsum(ended - begun)))
    # The end of the set's interval at or before a time; before the first one no time is over.
    reach = np.concatenate((np.full(1, np.iinfo(np.int64).min), ended))

    def before(times: NDArray[Any], at: NDArray[Any]) -> Times:
        over = np.maximum(np.take(reach, at), times)
        over -= times
        found: Times = np.take(sums, at)
        found -= over
        return found

    at = np.searchsorted(begun, ends, side="right")
    found = before(ends, at)
    # Short intervals begin where they end: only where some of the set begins inside, the search is made again.
    across = np.flatnonzero(np.take(begun, at - 1, mode="clip") > starts)
    at[across] = np.searchsorted(begun, np.take(starts, across), side="right")
    found -= before(starts, at)
    return np.maximum(found, 0, out=found)


def intersect(left: tuple[Times, Times], right: tuple[Times, Times]) -> Spans:
    """The time in both sets."""
    few, many = (left, right) if len(left[0]) <= len(right[0]) else (right, left)
    first = np.searchsorted(many[1], few[0], side="right")  # of those that end behind its start
    count = np.searchsorted(many[0], few[1], side="left") - first  # those that begin before its end
    meets = np.flatnonzero(count)
    first, count = np.take(first, meets), np.take(count, meets)
    if (count == 1).all():
        own, at = meets, first
    else:
        last = np.cumsum(count)
        at = np.arange(int(last[-1]))
        at += np.repeat(first - (last - count), count)
        own = np.repeat(meets, count)
    starts, ends = (extreme(np.take(few[n], own), np.take(many[n], at)) for n, extreme in enumerate((np.maximum, np.minimum)))
    return Spans(starts.astype(np.int64, copy=False), ends.astype(np.int64, copy=False))


def subtract(left: tuple[Times, Times], right: tuple[Times, Times]) -> Spans:
    """The time in the left set and not in the right one."""
    if not len(left[0]) or not len(right[0]):
        return Spans(*left)
    limits = np.iinfo(np.int64)
    rest = np.concatenate(([limits.min], right[1])), np.concatenate((right[0], [limits.max]))
    return intersect(left, rest)


def gaps(spans: tuple[Times, Times], start: int, end: int) -> Spans:
    """The time of [start, end) that the set leaves free."""
    return gaps_and_next(spans, start, end)[0]


def gaps_and_next(spans: tuple[Times, Times], start: int, end: int) -> tuple[Spans, Times]:
    """The time of [start, end) that the set leaves free, and which interval of the set ends each stretch of it; -1: none, it ends
    at `end`."""
    if start >= end:
        return Spans(spans[0][:0], spans[0][:0]), spans[0][:0]
    first, behind = int(np.searchsorted(spans[1], start, side="right")), int(np.searchsorted(spans[0], end))
    starts = np.concatenate((np.full(1, start), spans[1][first:behind]))
    ends = np.concatenate((spans[0][first:behind], np.full(1, end)))
    following = np.append(np.arange(first, behind), -1)
    real = starts < ends
    return Spans(starts[real], ends[real]), following[real]
