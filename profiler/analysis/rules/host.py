"""What the host rules share: which call comes next or came last, what lies between two launches, and what markers say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from npu import events
from profiler import intervals
from profiler.analysis.calls import COPY, EXECUTE, blocking, column
from profiler.analysis.context import Context
from profiler.analysis.edits import Edit
from profiler.analysis.groups import changes, largest
from profiler.analysis.judge import Name, at_most, judged
from profiler.analysis.own_time import OwnTimes
from profiler.findings import Finding
from profiler.intervals import Spans
from profiler.trace import Array

H2D, D2H = events.DIRECTIONS.index("h2d"), events.DIRECTIONS.index("d2h")


def anchors(context: Context) -> Array:
    """Mask over api rows: calls that launch, copy or wait. The others (buffers, descriptors, events) belong to what is around."""
    return context.once(_anchors)


def _anchors(context: Context) -> Array:
    trace = context.trace
    mask: Array = (context.launches.kernels > 0) | trace.api_named(*COPY) | blocking(trace)
    return mask


def next_anchor(context: Context, own: OwnTimes) -> Array:
    """Per own time the first launching, copying or waiting call of its thread at or after it; -1 without one."""
    return _anchor(context, own.row, after=True)


def last_anchor(context: Context, own: OwnTimes) -> Array:
    """Per own time the last launching, copying or waiting call of its thread before it; -1 without one."""
    return _anchor(context, own.before, after=False)


def _anchor(context: Context, rows: Array, after: bool) -> Array:
    outer = context.outer
    thread = context.trace.api["thread"]
    places = np.flatnonzero(np.take(anchors(context), outer))
    if not len(places):
        return np.full(len(rows), -1, np.int64)
    position = np.full(len(context.trace.api), -1, np.int32)
    position[outer] = np.arange(len(outer), dtype=np.int32)
    at = np.take(position, rows)
    # How many anchors lie before each place: the next of them is the one sought, or the one before it.
    before = np.zeros(len(outer) + 1, np.int32)
    before[places + 1] = 1
    np.cumsum(before, out=before)
    number = np.take(before, at) if after else np.take(before, at + 1) - 1
    known = (number >= 0) & (number < len(places))
    found = np.take(outer, np.take(places, number, mode="clip"))
    known &= np.take(thread, found) == np.take(thread, rows)
    return np.where(known, found, -1)


def copies_of(context: Context, rows: Array, direction: int) -> Array:
    """Mask over api rows (-1: none): copies in that direction, by call or by their task."""
    if not any_copies(context, direction):
        return np.zeros(len(rows), bool)
    found: Array = (rows >= 0) & (np.take(context.once(_directions), rows) == direction)
    return found


def any_copies(context: Context, direction: int) -> bool:
    """True when some call copies in that direction."""
    return bool((context.once(_directions) == direction).any())


def _directions(context: Context) -> Array:
    """Direction of each api row that copies, by call or by its task; -1 of all others."""
    trace = context.trace
    rows = np.flatnonzero(trace.api_named(*COPY))
    known, task = column(trace, "api", "direction")[rows], context.launches.first[rows]
    if len(trace.task):
        of_task = column(trace, "task", "direction")[np.maximum(task, 0)]
        known = np.where((known < 0) & (task >= 0), of_task, known)
    found = np.full(len(trace.api), -1, np.int8)
    found[rows] = known
    return found


def submission(context: Context, rows: Array) -> Array:
    """Number of kernel launches of its thread before each call: what lies between two launches has one number."""
    api = context.trace.api
    launching = np.flatnonzero(context.launches.kernels > 0)
    number = np.zeros(len(rows), np.int64)
    for thread in np.unique(api["thread"][rows]):
        launches = np.sort(api["start"][launching[api["thread"][launching] == thread]])
        mine = api["thread"][rows] == thread
        number[mine] = np.searchsorted(launches, api["start"][rows[mine]])
    return number


def items(context: Context, rows: Array) -> int:
    """How many submissions the calls belong to."""
    if not len(rows):
        return 0
    return int(changes(context.trace.api["thread"][rows], submission(context, rows)).sum())


def marked(context: Context, kind: str, thread: int | None = None) -> Spans:
    """Time inside markers of a kind, on one thread or on all."""
    table = context.trace.marker
    nothing = np.zeros(0, np.int64)
    if not table:
        return Spans(nothing, nothing)
    mask = table["kind"] == events.MARKERS.index(kind)
    if thread is not None:
        mask &= table["thread"] == thread
    rows = np.flatnonzero(mask)
    return intervals.union(table["start"][rows], table["end"][rows])


def in_markers(context: Context, own: OwnTimes, *kinds: str) -> Array:
    """How much of each own time lies in markers of these kinds on its thread, ns. A thread of markers without calls (the one that
    feeds a launching thread through a queue) counts for the thread that launches most."""
    found = np.zeros(len(own.row), np.int64)
    if not context.trace.marker or not len(own.row):
        return found
    callers = context.trace.api["thread"][own.row]
    main = main_thread(context)
    for kind in kinds:
        mask = context.trace.marker["kind"] == events.MARKERS.index(kind)
        for thread in np.unique(context.trace.marker["thread"][mask]).tolist():
            target = thread if (callers == thread).any() else main
            mine = callers == target
            found[mine] += intervals.inside(marked(context, kind, thread), own.start[mine], own.end[mine])
    return np.minimum(found, own.ns)


def main_thread(context: Context) -> int:
    """The thread that launches most kernels; -1 without launches."""
    launching = np.flatnonzero(context.launches.kernels > 0)
    if not len(launching):
        return -1
    found, counts = np.unique(context.trace.api["thread"][launching], return_counts=True)
    return int(found[np.argmax(counts)])


def idle_of(context: Context, starts: Array, ends: Array) -> Array:
    """How long the device was idle in each span, ns; of several devices the most idle one."""
    most = np.zeros(len(starts), np.int64)
    for gaps in context.idle.values():
        most = np.maximum(most, intervals.inside((gaps.starts, gaps.ends), starts, ends))
    return most


def launch_times(context: Context) -> Array:
    """Start of every call that launched kernels, sorted; without device rows of every model execution and node launch."""
    trace = context.trace
    if trace.task or not trace.api:
        rows = np.flatnonzero(context.launches.kernels > 0)
    else:
        rows = np.flatnonzero(trace.api_named(*EXECUTE) | (trace.api["level"] == events.LEVELS.index("node")))
    return np.sort(trace.api["start"][rows]) if len(rows) else np.zeros(0, np.int64)


def judged_calls(
    context: Context, name: Name, facts: Mapping[str, object], rows: Array, edit: Edit, evidence_most: int = 3
) -> Finding:
    """A finding about calls that a cure does without. Where no device rows were recorded, their time is all that can be said."""
    length = (context.trace.api["end"] - context.trace.api["start"])[rows]
    shown = context.calls_shown(rows[largest(length, evidence_most)])
    if not context.trace.task:
        bound = at_most(context, name, facts, int(length.sum()))
        return replace(bound, evidence=shown, sites=context.sites(rows))
    return judged(context, name, facts, (edit,), confidence="high", evidence=shown, sites=context.sites(rows))
