"""CANN_API and MSTX_EVENTS: what the host called, and what the program marked."""

from __future__ import annotations

import numpy as np

from npu import events
from profiler.export import chrome, columns, words
from profiler.export.database import Database, enum_ids
from profiler.export.db_tasks import NO_ID
from profiler.export.flows import launching_calls
from profiler.export.timeline_host import system_threads, thread_ids
from profiler.trace import Array, Trace

MARKS = {"mark": "marker", "range": "start/end", "step": "start/end"}  # kind of marker -> event type


def write(database: Database, trace: Trace) -> None:
    """Host calls and marks, each with the process's id and its thread's id in one number."""
    pid = int(trace.meta.get("pid", 0))
    zero = chrome.unix_zero(trace)
    if trace.api:
        levels = np.array([enum_ids("ENUM_API_TYPE")[words.LEVELS[level]] for level in events.LEVELS])
        api = trace.api
        database.insert(
            "CANN_API",
            api["start"] + zero,
            api["end"] + zero,
            levels[api["level"]],
            pid << 32 | thread_ids(trace),
            connections(trace),
            database.text_column(trace.strings, api["name"]),
        )
    if trace.marker:
        _marks(database, trace, pid, zero)


def connections(trace: Trace) -> Array:
    """A number of its own for each call, as the table wants it: of the calls of one correlation only the launching one has
    the number its tasks carry; all others get numbers nobody else has."""
    correlations, rows = launching_calls(trace)
    used = [int(t["correlation"].max()) for t in (trace.api, trace.task, trace.comm) if t and "correlation" in t]
    made = max(used, default=-1) + 1 + np.arange(len(trace.api))
    made[rows] = correlations
    return made


def _marks(database: Database, trace: Trace, pid: int, zero: int) -> None:
    kinds = [events.MARKERS.index(k) for k in MARKS]
    marker = trace.marker.take(np.isin(trace.marker["kind"], kinds))
    if not marker:
        return
    numbers = np.zeros(len(events.MARKERS), np.int64)
    numbers[kinds] = [enum_ids("ENUM_MSTX_EVENT_TYPE")[t] for t in MARKS.values()]
    correlation = columns.column(marker, "correlation")
    kind = numbers[marker["kind"]]
    on_stream = (marker["kind"] == events.MARKERS.index("mark")) & (correlation >= 0)
    kind[on_stream] = enum_ids("ENUM_MSTX_EVENT_TYPE")["marker_ex"]
    tid = pid << 32 | system_threads(trace, marker["thread"])
    database.insert(
        "MSTX_EVENTS",
        marker["start"] + zero,
        marker["end"] + zero,
        kind,
        NO_ID,
        NO_ID,
        database.text_column(trace.strings, marker["name"]),
        tid,
        tid,
        database.text_column(trace.strings, columns.column(marker, "domain"), "default"),
        np.where(correlation >= 0, correlation, NO_ID),
    )
