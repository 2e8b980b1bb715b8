"""Bytes that tasks move, evenly over the time each takes: how many have been moved by a moment, and the rate of an interval."""

from __future__ import annotations

import numpy as np

from profiler.trace import Array

MB = 1 << 20  # as the collector counts: its database has these times 1048576 as bytes/s


def rate(start: Array, end: Array, moved: Array, times: Array) -> Array:
    """MB/s between each two of the times (ns): one value less than there are times."""
    made: Array = np.diff(by(start, end, moved, times)) / np.diff(times) * 1e9 / MB
    return made


def by(start: Array, end: Array, moved: Array, times: Array) -> Array:
    """Bytes moved until each time: the integral of the sum of all rates. Rows that move nothing may be among them."""
    mine = np.flatnonzero(moved > 0)
    if not len(mine):
        return np.zeros(len(times))
    start, end = start[mine], np.maximum(end[mine], start[mine] + 1)
    slope = moved[mine] / (end - start)
    at = np.concatenate((start, end))
    order = np.argsort(at, kind="stable")
    at = at[order]
    slopes = np.cumsum(np.concatenate((slope, -slope))[order])
    total = np.concatenate(([0.0], np.cumsum(slopes[:-1] * np.diff(at))))
    found: Array = np.interp(times, at, total)
    return found
