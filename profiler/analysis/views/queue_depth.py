"""How many launched tasks wait in each stream (view V7)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from profiler import intervals
from profiler.analysis.breakdown import in_collective
from profiler.analysis.gaps import Gaps
from profiler.analysis.views.basis import Basis
from profiler.intervals import Spans
from profiler.trace import Array

PLATEAU_MIN = 3  # times the maximum must be reached to look like a full queue


class Queue(NamedTuple):
    """One stream over the window. mean, half, high: time-weighted mean, median and 95th percentile of the tasks launched and
    not yet begun; most: the maximum. outstanding: mean of those not yet ended. starved: share of the window at 0 while the
    device is idle. full: share at the maximum, 0 unless it was reached PLATEAU_MIN times."""

    device: int
    stream: int
    tasks: int
    mean: float
    half: int
    high: int
    most: int
    outstanding: float
    starved_share: float
    full_share: float


def queue_depth(basis: Basis, idle: dict[int, Gaps]) -> tuple[Queue, ...]:
    """One record per device and stream with linked tasks in the window; the tasks inside collectives are not counted."""
    trace, launches = basis.trace, basis.launches
    if not trace.task:
        return ()
    linked = np.flatnonzero((launches.row >= 0) & ~in_collective(trace))
    made = []
    lane = basis.lanes[linked]
    for number in np.flatnonzero(np.bincount(lane)).tolist():
        rows = linked[lane == number]
        device, stream = int(trace.task["device"][rows[0]]), int(trace.task["stream"][rows[0]])
        launch, start, end = launches.time[rows], trace.task["start"][rows], trace.task["end"][rows]
        inside = (launch < basis.window[1]) & (end > basis.window[0])
        launch, start, end = np.minimum(launch, start)[inside], start[inside], end[inside]
        if not len(launch):
            continue
        depth, length, spans, rises = _levels(launch, start, basis.window)
        most = int(depth.max(initial=0))
        at_depth = np.zeros(most + 1, np.int64)
        np.add.at(at_depth, depth, length)
        share = np.cumsum(at_depth) / basis.length
        zero = Spans(spans.starts[depth == 0], spans.ends[depth == 0])
        gaps = idle.get(device)
        starved = intervals.length(intervals.intersect(zero, (gaps.starts, gaps.ends))) if gaps is not None else 0
        reached = int((rises == most).sum())
        waiting = np.minimum(end, basis.window[1]) - np.maximum(launch, basis.window[0])
        made.append(
            Queue(
                device,
                stream,
                len(launch),
                float((depth * length).sum() / basis.length),
                min(int(np.searchsorted(share, 0.5)), most),
                min(int(np.searchsorted(share, 0.95)), most),
                most,
                float(waiting.sum() / basis.length),
                starved / basis.length,
                float(length[depth == most].sum() / basis.length) if reached >= PLATEAU_MIN and most > 1 else 0.0,
            )
        )
    return tuple(made)


def _levels(launch: Array, start: Array, window: tuple[int, int]) -> tuple[Array, Array, Spans, Array]:
    """Depth and length of each stretch of constant depth in the window, the stretches, and the depth after each launch."""
    times = np.concatenate((launch, start)).astype(np.int64)
    steps = np.repeat(np.array([1, -1], np.int8), len(launch))
    order = np.argsort(times, kind="stable")  # launches stand first, so they come first among equal times
    times, steps = times[order], steps[order]
    level = np.cumsum(steps, dtype=np.int32)
    edges = np.clip(np.concatenate(([window[0]], times, [window[1]])), *window)
    depth = np.concatenate(([0], level))
    length = np.diff(edges)
    real = length > 0
    return depth[real], length[real], Spans(edges[:-1][real], edges[1:][real]), level[steps > 0]
