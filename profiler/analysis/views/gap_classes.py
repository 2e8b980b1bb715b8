"""Why a device was idle (view V5): every moment of every idle interval has one reason. Times ns.

An idle interval [a, b) ends with a task (kernel, collective or copy) whose launch L is clamped into it.
1. Where collection makes the gaps, the first f after every kernel is the collection's.
2. [a, L): the host is late; what the launching thread did meanwhile says why, most telling class first, then what the threads
   did that feed it, then framework operators; where nothing was recorded it is user code.
3. [L, b): the device is; inside a wait for an event that event, else dispatch up to the floor, the rest is unexplained.
Waiting for ranks and for copy engines cannot occur here: collectives and copies are not idle time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from npu import events
from profiler import intervals
from profiler.analysis.breakdown import Work, comm_launch
from profiler.analysis.calls import column
from profiler.analysis.gaps import Gaps
from profiler.analysis.groups import changes, values_of
from profiler.analysis.host_classes import CALLS, MARKERS, classes
from profiler.analysis.launches import Launches
from profiler.analysis.views.gap_floor import Floor
from profiler.intervals import Spans
from profiler.trace import Array, Trace

# unlinked: the launch of what ends the gap was not recorded; end: nothing follows.
CLASSES = ("collection", *CALLS, "framework", "user", "unlinked", "event", "dispatch", "unexplained", "end")
HOST = (*CALLS, "framework", "user")


class GapClasses(NamedTuple):
    """starts, ends: idle intervals. spent: ns by class, only of classes that occur; all together they sum to the intervals."""

    starts: Array
    ends: Array
    spent: dict[str, int]

    def total(self, *names: str) -> int:
        """Time of these classes (all without names), ns."""
        return sum(self.spent.get(n, 0) for n in names or CLASSES)

    @property
    def host(self) -> int:
        """Time the device waited for the host, ns."""
        return self.total(*HOST)

    def by_class(self) -> dict[str, int]:
        """Time per class, only those that occur, the longest first."""
        sums = {name: self.total(name) for name in CLASSES}
        return {name: sums[name] for name in sorted(sums, key=lambda name: -sums[name]) if sums[name] > 0}


class _Ends(NamedTuple):
    """What ends each interval: launch time, its thread, stream; linked: a launch was recorded; none: nothing follows."""

    launch: Array
    thread: Array
    stream: Array
    linked: Array
    none: Array


def gap_classes(trace: Trace, launches: Launches, idle: Gaps, device: int, floor: Floor) -> GapClasses:
    """All idle intervals of a device with their reasons."""
    starts, ends = idle.starts, idle.ends
    spent: dict[str, int] = {}
    end = _ending(trace, launches, device, idle)

    def put(name: str, ns: int) -> None:
        if ns:
            spent[name] = spent.get(name, 0) + ns

    whole = rest = Spans(starts, ends)

    def within(begins: Array, stops: Array) -> Spans:
        """The rest of some intervals or of their parts; these lie apart, so where all of them is left there is nothing to cut."""
        if rest is not whole:
            return intervals.intersect(rest, intervals.union(begins, stops))
        real = begins < stops
        return Spans(begins[real], stops[real])

    if floor.collecting and floor.ns is not None:
        kernels = np.flatnonzero(Work(trace, device).computing)
        after = trace.task["end"][kernels].astype(np.int64)
        rest = intervals.subtract(rest, intervals.union(after, after + floor.ns))
        put("collection", intervals.length(whole) - intervals.length(rest))
    launch = np.clip(end.launch, starts, ends)
    put("end", intervals.length(within(starts[end.none], ends[end.none])))
    loose = ~end.linked & ~end.none
    put("unlinked", intervals.length(within(starts[loose], ends[loose])))
    feeders = _feeders(trace)
    codes = classes(trace)
    for thread in values_of(end.thread[end.linked]).tolist():
        mine = end.linked & (end.thread == thread)
        late = within(starts[mine], launch[mine])
        left = intervals.length(late)
        for name, doing in _doing(trace, codes, thread, feeders.get(thread, ())):
            late = intervals.subtract(late, doing)
            put(name, left - intervals.length(late))
            left = intervals.length(late)
        put("user", left)
    on_device = within(launch[end.linked], ends[end.linked])
    waiting = _event_waits(trace, device, starts, ends, end, on_device)
    put("event", intervals.length(waiting))
    if rest is whole and not len(waiting.starts):  # one part an interval
        unexplained = on_device.ends - on_device.starts
    else:
        unexplained = _per_gap(starts, intervals.subtract(on_device, waiting))
    dispatch = np.minimum(unexplained, floor.dispatch)
    put("dispatch", int(dispatch.sum()))
    put("unexplained", int((unexplained - dispatch).sum()))
    return GapClasses(starts, ends, spent)


def _per_gap(starts: Array, spans: Spans) -> Array:
    """Time of the spans in each interval that holds some, ns."""
    if not len(spans.starts):
        return spans.starts
    heads = np.flatnonzero(changes(np.searchsorted(starts, spans.starts, side="right")))
    sums: Array = np.add.reduceat(spans.ends - spans.starts, heads)
    return sums


def _ending(trace: Trace, launches: Launches, device: int, idle: Gaps) -> _Ends:
    """What begins at the end of each interval: a task of V1, or a collective."""
    if trace.task and not trace.comm and (trace.task["start"][1:] > trace.task["start"][:-1]).all():
        return _next(trace, launches, idle)
    return _searched(trace, launches, device, idle.ends)


def _searched(trace: Trace, launches: Launches, device: int, ends: Array) -> _Ends:
    """The same where tasks begin at one time, out of order, or beside collectives."""
    work = Work(trace, device)
    tasks = np.flatnonzero(work.computing | work.copies)
    ops = np.flatnonzero(work.collectives)
    starts, launched, threads, streams = [], [], [], []
    if len(tasks):
        row = launches.row[tasks]
        starts.append(trace.task["start"][tasks])
        launched.append(launches.time[tasks])
        streams.append(trace.task["stream"][tasks])
        threads.append(np.where(row >= 0, trace.api["thread"][row], -1) if trace.api else np.full(len(tasks), -1))
    if len(ops):
        row = _call_of(trace, ops)
        starts.append(trace.comm["start"][ops])
        launched.append(comm_launch(trace)[ops])
        streams.append(trace.comm["stream"][ops] if "stream" in trace.comm else np.full(len(ops), -1))
        threads.append(np.where(row >= 0, trace.api["thread"][row], -1) if trace.api else np.full(len(ops), -1))
    if not starts:
        lost = np.full(len(ends), -1)
        return _Ends(ends, lost, lost, np.zeros(len(ends), bool), np.ones(len(ends), bool))
    start, launch, thread, stream = (np.concatenate(c).astype(np.int64) for c in (starts, launched, threads, streams))
    if (start[1:] > start[:-1]).all():
        found = np.minimum(np.searchsorted(start, ends), len(start) - 1)
    else:
        order = np.lexsort((launch, start))
        found = order[np.minimum(np.searchsorted(np.take(start, order), ends), len(order) - 1)]
    none = np.take(start, found) != ends
    thread = np.take(thread, found)
    return _Ends(np.take(launch, found), np.where(none, -1, thread), np.take(stream, found), (thread >= 0) & ~none, none)


def _next(trace: Trace, launches: Launches, idle: Gaps) -> _Ends:
    """The same where only one task begins at a time: the one that follows."""
    none = (idle.next < 0) | (np.take(trace.task["start"], idle.next) != idle.ends)
    row = np.take(launches.row, idle.next)
    linked = (row >= 0) & ~none
    thread = np.where(linked, np.take(trace.api["thread"], row), -1) if trace.api else np.full(len(row), -1)
    return _Ends(np.take(launches.time, idle.next), thread, np.take(trace.task["stream"], idle.next), linked, none)


def _call_of(trace: Trace, ops: Array) -> Array:
    """Api row with the correlation of each comm row, -1 without one."""
    known, calls = trace.comm.get("correlation"), column(trace, "api", "correlation")
    if known is None or not len(calls):
        return np.full(len(ops), -1, np.int64)
    order = np.argsort(calls, kind="stable")
    at = np.minimum(np.searchsorted(calls[order], known[ops]), len(order) - 1)
    hit = (known[ops] >= 0) & (calls[order][at] == known[ops])
    return np.where(hit, order[at], -1)


def _feeders(trace: Trace) -> dict[int, tuple[int, ...]]:
    """Thread that takes work from a queue -> the threads that put some into it (markers dequeue and enqueue)."""
    if not trace.marker:
        return {}
    kind, thread = trace.marker["kind"], trace.marker["thread"]
    puts = np.unique(thread[kind == events.MARKERS.index("enqueue")]).tolist()
    takers = np.unique(thread[kind == events.MARKERS.index("dequeue")]).tolist()
    return {int(t): tuple(p for p in puts if p != t) for t in takers}


def _doing(trace: Trace, codes: Array, thread: int, feeders: tuple[int, ...]) -> Iterator[tuple[str, Spans]]:
    """What a thread and those that feed it were doing, by class in order of priority."""
    mine = {who: trace.api["thread"] == who for who in (thread, *feeders)}
    counts = np.bincount(codes, minlength=len(CALLS)).tolist()
    for number, name in enumerate(CALLS):
        of_class = codes == number if counts[number] else None
        for who, here in mine.items():
            calls = np.flatnonzero(of_class & here) if of_class is not None else ()
            if len(calls):
                yield name, intervals.union(np.take(trace.api["start"], calls), np.take(trace.api["end"], calls))
            yield from _marked(trace, name, who)
    for who in mine:
        yield from _marked(trace, "framework", who)


def _marked(trace: Trace, name: str, thread: int) -> list[tuple[str, Spans]]:
    """Markers of a class on a thread."""
    kinds = [events.MARKERS.index(kind) for kind, made in MARKERS.items() if made == name]
    if not trace.marker or not kinds:
        return []
    rows = np.flatnonzero(np.isin(trace.marker["kind"], kinds) & (trace.marker["thread"] == thread))
    return [(name, intervals.union(trace.marker["start"][rows], trace.marker["end"][rows]))] if len(rows) else []


def _event_waits(trace: Trace, device: int, starts: Array, ends: Array, end: _Ends, on_device: Spans) -> Spans:
    """The time in which the stream of what follows waits for an event."""
    nothing = np.zeros(0, np.int64)
    if not trace.task:
        return Spans(nothing, nothing)
    waits = np.flatnonzero(trace.tasks_of("wait") & (trace.task["device"] == device))
    found = [Spans(nothing, nothing)]
    for stream in np.unique(trace.task["stream"][waits]).tolist():
        rows = waits[trace.task["stream"][waits] == stream]
        mine = end.linked & (end.stream == stream)
        here = intervals.intersect(on_device, intervals.union(starts[mine], ends[mine]))
        found.append(intervals.intersect(here, intervals.union(trace.task["start"][rows], trace.task["end"][rows])))
    return intervals.union(np.concatenate([f.starts for f in found]), np.concatenate([f.ends for f in found]))
