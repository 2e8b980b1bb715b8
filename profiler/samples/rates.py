"""What tasks do evenly over the time each takes: how much has been done by a moment, and the rate of an interval."""

from __future__ import annotations

import numpy as np

from profiler.trace import Array

MB = 1 << 20  # as the collector counts: its database has these times 1048576 as bytes/s


def rate(start: Array, end: Array, amount: Array, times: Array) -> Array:
    """MB/s between each two of the times (ns) for bytes: one value less than there are times."""
    made: Array = np.maximum(np.diff(by(start, end, amount, times)), 0.0) / np.diff(times) * 1e9 / MB
    return made


def by(start: Array, end: Array, amount: Array, times: Array) -> Array:
    """How much is done until each time: the integral of the sum of all rates. Rows that do nothing may be among them."""
    mine = np.flatnonzero(amount > 0)
    if not len(mine):
        return np.zeros(len(times))
    start, end = start[mine], np.maximum(end[mine], start[mine] + 1)
    slope = amount[mine] / (end - start)
    return _from(start, slope, times) - _from(end, slope, times)


def _from(at: Array, slope: Array, times: Array) -> Array:
    """Sum of slope x (time - at) over the rows that lie before each time."""
    order = np.argsort(at, kind="stable")
    since, slope = (at[order] - times[0]).astype(np.float64), slope[order]
    before = np.searchsorted(since, times - times[0])
    slopes = np.concatenate(([0.0], np.cumsum(slope)))[before]
    begun = np.concatenate(([0.0], np.cumsum(slope * since)))[before]
    made: Array = slopes * (times - times[0]) - begun
    return made
