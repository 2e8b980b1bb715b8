"""What host threads did in the window (view V14): self time by call, and the time of the user's own code between calls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from profiler import intervals
from profiler.analysis.calls import blocking
from profiler.analysis.groups import changes, combined
from profiler.analysis.host_classes import classes, name_of
from profiler.analysis.views.basis import Basis
from profiler.trace import Array, Trace


@dataclass(frozen=True, slots=True)
class ApiTime:
    """One call on one thread. self_ns: without the calls inside it. per_step: calls per step."""

    thread: int
    name: str
    kind: str  # class of view V5
    count: int
    per_step: float
    total_ns: int
    self_ns: int


class Thread(NamedTuple):
    """One thread over the window: in calls, of it waiting for the device, and between its calls (user code)."""

    thread: int
    calls: int
    in_calls_ns: int
    waiting_ns: int
    user_ns: int


class HostThreads(NamedTuple):
    threads: tuple[Thread, ...]
    apis: tuple[ApiTime, ...]


def host_threads(basis: Basis) -> HostThreads:
    """Threads with calls in the window; calls by self time, the longest first."""
    trace = basis.trace
    if not trace.api:
        return HostThreads((), ())
    inside = (trace.api["start"] < basis.window[1]) & (trace.api["end"] > basis.window[0])
    rows = np.flatnonzero(inside)
    if not len(rows):
        return HostThreads((), ())
    own, waits, kinds = self_times(trace), blocking(trace), classes(trace)
    start, end, thread = (trace.api[n][rows] for n in ("start", "end", "thread"))
    threads = []
    for number in np.unique(thread).tolist():
        mine = thread == number
        spans = intervals.union(np.maximum(start[mine], basis.window[0]), np.minimum(end[mine], basis.window[1]))
        held = mine & waits[rows]
        held_spans = intervals.union(np.maximum(start[held], basis.window[0]), np.minimum(end[held], basis.window[1]))
        used = intervals.length(spans)
        first, last = max(basis.window[0], int(start[mine].min())), min(basis.window[1], int(end[mine].max()))
        threads.append(Thread(int(number), int(mine.sum()), used, intervals.length(held_spans), max(0, last - first - used)))
    number = combined(thread, trace.api["name"][rows])
    order = np.argsort(number, kind="stable")
    apis = []
    for group in np.split(order, np.flatnonzero(changes(number[order]))[1:]):
        some = rows[group]
        apis.append(
            ApiTime(
                int(trace.api["thread"][some[0]]),
                trace.strings[int(trace.api["name"][some[0]])],
                name_of(int(kinds[some[0]])),
                len(some),
                len(some) / basis.count,
                int((trace.api["end"] - trace.api["start"])[some].sum()),
                int(own[some].sum()),
            )
        )
    return HostThreads(tuple(threads), tuple(sorted(apis, key=lambda a: (-a.self_ns, a.name))))


def self_times(trace: Trace) -> Array:
    """Length of each call without the calls directly inside it on its thread, ns."""
    start, end, thread = (trace.api[n].astype(np.int64) for n in ("start", "end", "thread"))
    own: Array = end - start
    order = np.lexsort((-end, start, thread))
    open_: list[int] = []
    current = None
    for row in order.tolist():
        if thread[row] != current:
            current, open_ = thread[row], []
        while open_ and end[open_[-1]] <= start[row]:
            open_.pop()
        if open_ and end[row] <= end[open_[-1]]:
            own[open_[-1]] -= end[row] - start[row]
        open_.append(row)
    return own
