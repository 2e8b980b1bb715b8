"""Marks and ranges a program set (mstx, acl.prof): on the host, and on the device where they were set on a stream."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from npu import events
from profiler.export import columns
from profiler.export.timeline_host import system_threads
from profiler.trace import Array, Columns, Trace

KINDS = ("mark", "range")


class Marks(NamedTuple):
    """One row per mark in order of time: rows of the marker table, thread ids of the system, what each is called (event_type),
    and of its tasks on the device begin and end (ns), device and stream, -1 for one that has none."""

    rows: Columns
    thread: Array
    event: list[str]
    device_start: Array
    device_end: Array
    device: Array
    stream: Array


def marks(trace: Trace) -> Marks | None:
    """None without any. Ranges that a framework set for itself (those with a domain of its own) are ranges like all others."""
    if not trace.marker:
        return None
    rows = np.flatnonzero(np.isin(trace.marker["kind"], [events.MARKERS.index(k) for k in KINDS]))
    if not len(rows):
        return None
    found = trace.marker.take(rows[np.argsort(trace.marker["start"][rows], kind="stable")])
    start, end, device, stream = _on_device(trace, columns.column(found, "correlation"))
    is_mark = found["kind"] == events.MARKERS.index("mark")
    on_device = (start >= 0).tolist()
    event = [("marker_ex" if d else "marker") if m else "start/end" for m, d in zip(is_mark.tolist(), on_device, strict=True)]
    return Marks(found, system_threads(trace, found["thread"]), event, start, end, device, stream)


def _on_device(trace: Trace, correlation: Array) -> tuple[Array, Array, Array, Array]:
    """Begin of the first and end of the last task of each correlation, ns, its device and stream; -1 where no task has it."""
    nothing = np.full(len(correlation), -1, np.int64)
    task = trace.task
    known, which = np.unique(correlation, return_inverse=True)
    carried = columns.column(task, "correlation") if task else np.zeros(0, np.int64)
    mine = np.flatnonzero((carried >= 0) & np.isin(carried, known))
    if not len(mine):
        return nothing, nothing, nothing, nothing
    at = np.searchsorted(known, carried[mine])
    last = np.full(len(known), -1, np.int64)
    np.maximum.at(last, at, task["end"][mine])
    order = mine[np.lexsort((task["start"][mine], at))]
    first = np.full(len(known), -1, np.int64)
    have, begins = np.unique(carried[order], return_index=True)
    first[np.searchsorted(known, have)] = order[begins]
    row = first[which]
    there = row >= 0
    values = [np.where(there, columns.column(task, n)[row], -1) for n in ("start", "device", "stream")]
    return values[0], last[which], values[1], values[2]
