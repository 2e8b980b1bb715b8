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
from profiler.analysis.groups import changes
from profiler.analysis.judge import Name, at_most, judged
from profiler.analysis.own_time import OwnTimes
from profiler.findings import Finding
from profiler.intervals import Spans
from profiler.trace import Array

H2D, D2H = events.DIRECTIONS.index("h2d"), events.DIRECTIONS.index("d2h")


def anchors(context: Context) -> Array:
    """Mask over api rows: calls that launch, copy or wait. The others (buffers, descriptors, events) belong to what is around."""
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
    thread = context.trace.api["thread"][outer]
    mask = anchors(context)[outer]
    places = np.arange(len(outer))
    if after:
        found = np.minimum.accumulate(np.where(mask, places, len(outer))[::-1])[::-1]
    else:
        found = np.maximum.accumulate(np.where(mask, places, -1))
    position = np.full(len(context.trace.api), -1, np.int64)
    position[outer] = places
    at = found[position[rows]]
    known = (at >= 0) & (at < len(outer))
    at = np.clip(at, 0, max(0, len(outer) - 1))
    known &= thread[at] == context.trace.api["thread"][rows]
    return np.where(known, outer[at], -1)


def copies_of(context: Context, rows: Array, direction: int) -> Array:
    """Mask over api rows (-1: none): copies in that direction, by call or by their task."""
    if not len(context.trace.api):
        return np.zeros(len(rows), bool)
    known = column(context.trace, "api", "direction")[rows]
    task = context.launches.first[rows]
    if len(context.trace.task):
        of_task = column(context.trace, "task", "direction")[np.maximum(task, 0)]
        known = np.where((known < 0) & (task >= 0), of_task, known)
    found: Array = (rows >= 0) & context.trace.api_named(*COPY)[rows] & (known == direction)
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
    shown = context.calls_shown(rows[np.argsort(-length, kind="stable")][:evidence_most])
    if not context.trace.task:
        bound = at_most(context, name, facts, int(length.sum()))
        return replace(bound, evidence=shown, sites=context.sites(rows))
    return judged(context, name, facts, (edit,), confidence="high", evidence=shown, sites=context.sites(rows))
