"""The time a thread spends in its own code between calls, and how much of it the device was idle."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from profiler import intervals
from profiler.analysis.gaps import Gaps
from profiler.analysis.groups import narrow
from profiler.trace import Array, Trace


class OwnTimes(NamedTuple):
    """Own time of threads before outer calls of the window, by thread and start; those without any are left out.

    row: the call. before: the call before it. start, length: the time between them, inside the window. idle: how much of it the
    device was idle, ns (of several devices the most idle one).
    """

    row: Array
    before: Array
    start: Array
    length: Array
    idle: Array

    @property
    def ns(self) -> Array:
        return self.length.astype(np.int64)

    @property
    def end(self) -> Array:
        end: Array = self.start + self.length
        return end

    def only(self, mask: Array) -> OwnTimes:
        return OwnTimes(*(c[mask] for c in self))


def own_times(trace: Trace, outer: Array, window: tuple[int, int], idle: Iterable[Gaps]) -> OwnTimes:
    """All own times of the window. outer: rows of calls that lie in no other call, by thread and start."""
    api = trace.api
    if len(outer) < 2:
        return OwnTimes(*(np.zeros(0, np.int64),) * 5)
    thread = np.take(api["thread"], outer)
    same = thread[1:] == thread[:-1]
    before, row = (outer[:-1], outer[1:]) if same.all() else (outer[:-1][same], outer[1:][same])
    start = np.clip(np.take(api["end"], before), *window).astype(np.int64, copy=False)
    end = np.clip(np.take(api["start"], row), *window).astype(np.int64, copy=False)
    real = start < end
    if not real.all():
        row, before, start, end = row[real], before[real], start[real], end[real]
    most = np.zeros(len(row), np.int64)
    for gaps in idle:
        most = np.maximum(most, intervals.inside((gaps.starts, gaps.ends), start, end))
    return OwnTimes(narrow(row), narrow(before), start, narrow(end - start), narrow(most))
