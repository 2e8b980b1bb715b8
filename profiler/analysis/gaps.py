"""Idle time of a device and what ends it (view V5, as far as the rules need it)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from profiler import intervals
from profiler.analysis.breakdown import Work
from profiler.analysis.groups import narrow
from profiler.analysis.launches import Launches
from profiler.intervals import Spans
from profiler.trace import Array, Trace


class Gaps(NamedTuple):
    """Maximal idle intervals of one device inside the window; next: the task row that ends each (-1: the window's end);
    late: the part in which the host had not launched it yet."""

    starts: Array
    ends: Array
    next: Array
    late: Array


def busy(trace: Trace, device: int, copies: bool = True) -> Spans:
    """When a device computes, communicates, or (copies=True) copies."""
    work = Work(trace, device)
    tasks = work.computing | work.copies if copies else work.computing
    starts, ends = ([trace.task[n][tasks]] if trace.task else [] for n in ("start", "end"))
    if trace.comm:
        starts.append(trace.comm["start"][work.collectives])
        ends.append(trace.comm["end"][work.collectives])
    nothing = np.zeros(0, np.int64)
    return intervals.union(np.concatenate([nothing, *starts]), np.concatenate([nothing, *ends]))


def idle(trace: Trace, launches: Launches, device: int, window: tuple[int, int]) -> Gaps:
    """The idle intervals of a device, each split into host late and the rest by the launch of the task that ends it."""
    starts, ends = intervals.gaps(busy(trace, device), *window)
    rows = (
        np.flatnonzero((trace.task["device"] == device) & trace.tasks_of("kernel", "aicpu", "copy", "memset"))
        if trace.task
        else np.zeros(0, np.int64)
    )
    if not len(rows):
        return Gaps(starts, ends, np.full(len(ends), -1, np.int32), narrow(ends - starts))
    begun = np.take(trace.task["start"], rows)
    if (begun[1:] < begun[:-1]).any():
        rows = rows[np.argsort(begun, kind="stable")]
        begun = np.take(trace.task["start"], rows)
    at = np.searchsorted(begun, ends)
    following = np.take(rows, at, mode="clip")
    launch = np.take(launches.time, following)
    none = at == len(rows)
    following[none], launch[none] = -1, ends[none]
    late = np.clip(launch, starts, ends, out=launch)
    late -= starts
    return Gaps(starts, ends, narrow(following), narrow(late))
