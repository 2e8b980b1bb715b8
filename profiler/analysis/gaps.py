"""Idle time of a device and what ends it (view V5, as far as the rules need it)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from profiler import intervals
from profiler.analysis.breakdown import Work
from profiler.analysis.groups import narrow, stretch
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
    if (found := _of_tasks(trace, launches, device, window)) is not None:
        return found
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


def _of_tasks(trace: Trace, launches: Launches, device: int, window: tuple[int, int]) -> Gaps | None:
    """The idle intervals of a device without collectives whose tasks stand in order and take time: what ends each is known from
    what was joined, without a search. None for all others."""
    if trace.comm or not trace.task:
        return None
    work = Work(trace, device)
    rows = np.flatnonzero(work.computing | work.copies)
    begun, ended = (trace.task[n][stretch(rows)] for n in ("start", "end"))
    if not len(rows) or not (begun[1:] >= begun[:-1]).all() or not (ended > begun).all():
        return None
    reach = np.maximum.accumulate(ended)
    heads = np.append(0, np.flatnonzero(begun[1:] > reach[:-1]) + 1)
    here, last = stretch(heads), np.append(heads[1:], len(rows)) - 1
    (starts, ends), number = intervals.gaps_and_next((begun[here], reach[stretch(last)]), *window)
    at = np.take(heads, number, mode="clip")
    if len(number) and number[-1] < 0:  # up to the end of the window
        at[-1] = np.searchsorted(begun, ends[-1])
    following = np.take(rows, at, mode="clip").astype(np.int32)
    launch = np.take(launches.time, following)
    if len(at) and at[-1] == len(rows):
        following[-1], launch[-1] = -1, ends[-1]
    late = np.clip(launch, starts, ends, out=launch)
    late -= starts
    return Gaps(starts, ends, narrow(following), narrow(late))
