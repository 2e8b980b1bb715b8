"""Launch moments of profiles without host calls (Level0): entries of the framework's task queue stand for the calls.

1. An arrow leads from a framework operator to the last task it launched; the reader gave both that task's connection id.
2. Ids are given in the order of launches, so tasks between the arrows of two operators belong to the later one. Collectives
   have ids of their own and end such a run, as do entries of the queue without an arrow that may launch something (those of
   events do not: their tasks stay apart). A task that began before its launch could belongs to nobody.
3. What launches is the entry the queue's thread takes out (dequeue), where the operator put one in (enqueue); else the operator.
On real Level1 files every kernel and copy finds its entry this way, and its real launch lies in it (tests: test_dispatch.py).
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from npu import events
from profiler.analysis.groups import changes
from profiler.trace import Array, Columns, Trace

CLOCK_SLOP = 25_000  # ns; clocks of host and device (spec of the analyzer, section 1)
EVENTS = "_event"  # entries of the framework's queue: record_event, wait_event, destroy_event
COLLECTIVES = ("Dequeue@Hccl", "Dequeue@hcom_")
UNKNOWN = -1  # level of these rows: they are no calls of any layer


class Dispatched(NamedTuple):
    """A trace whose api rows are moments of launching; marker: the marker row each of them is."""

    trace: Trace
    marker: Array


def dispatched(trace: Trace) -> Dispatched | None:
    """The trace with launches, or None where it has calls of its own or nothing that could stand for them."""
    marker, task = trace.marker, trace.task
    if trace.api or not task or not marker or "correlation" not in marker or "correlation" not in task:
        return None
    operators = np.flatnonzero((marker["kind"] == events.MARKERS.index("cpu_op")) & (marker["correlation"] >= 0))
    operators = operators[np.isin(marker["correlation"][operators], task["correlation"])]
    if not len(operators):
        return None
    puts, gets = _queue(trace)
    through = _put_by(trace, operators, puts)
    launching = np.where(through >= 0, gets[through] if len(gets) else -1, operators)
    ids = marker["correlation"][operators].astype(np.int64)
    order = np.argsort(ids, kind="stable")
    order = order[changes(ids[order])]
    ids, launching = ids[order], launching[order]
    clear = _clear(trace, launching, np.setdiff1d(gets, launching))
    owner = _owners(trace, ids, marker["start"][launching], clear)
    correlation = np.where(owner >= 0, ids[np.maximum(owner, 0)], task["correlation"])
    rows = np.concatenate((launching, puts))
    numbers = np.concatenate((ids, np.full(len(puts), -1)))
    order = np.argsort(marker["start"][rows], kind="stable")
    rows, numbers = rows[order], numbers[order]
    api = Columns(
        {n: marker[n][rows] for n in ("start", "end", "thread", "name")}
        | {"level": np.full(len(rows), UNKNOWN, np.int8), "correlation": numbers}
    )
    return Dispatched(replace(trace, api=api, task=task.with_columns(correlation=correlation)), rows)


def _queue(trace: Trace) -> tuple[Array, Array]:
    """Marker rows of entries that were put into a queue and taken out again, pair by pair."""
    marker = trace.marker
    puts, gets = (np.flatnonzero(marker["kind"] == events.MARKERS.index(k)) for k in ("enqueue", "dequeue"))
    puts = puts[np.argsort(marker["correlation"][puts], kind="stable")]
    if not len(puts) or not len(gets):
        return puts[:0], gets[:0]
    known = marker["correlation"][puts]
    at = np.minimum(np.searchsorted(known, marker["correlation"][gets]), len(puts) - 1)
    hit = (known[at] == marker["correlation"][gets]) & (marker["correlation"][gets] >= 0)
    return puts[at[hit]], gets[hit]


def _put_by(trace: Trace, operators: Array, puts: Array) -> Array:
    """Per operator the place in `puts` of the entry it put into the queue, -1 without one."""
    found = np.full(len(operators), -1, np.int64)
    start, end, thread = (trace.marker[n] for n in ("start", "end", "thread"))
    for number in np.unique(thread[puts]):
        mine = np.flatnonzero(thread[operators] == number)
        mine = mine[np.argsort(start[operators[mine]], kind="stable")]
        entries = np.flatnonzero(thread[puts] == number)
        at = np.searchsorted(start[operators[mine]], start[puts[entries]], side="right") - 1
        inside = (at >= 0) & (end[puts[entries]] <= end[operators[mine[np.maximum(at, 0)]]]) if len(mine) else at >= 0
        found[mine[at[inside]]] = entries[inside]
    return found


def _clear(trace: Trace, launching: Array, bare: Array) -> Array:
    """Per launch, in order of their ids: no entry that may launch something lies between the launch before it and this one."""
    start = trace.marker["start"]
    silent = trace.strings.flags(lambda text: text.endswith(EVENTS) or text.startswith(COLLECTIVES))
    others = np.sort(start[bare[~silent[trace.marker["name"][bare]]]])
    before = np.searchsorted(others, start[launching])
    clear: Array = np.diff(before, prepend=0) == 0
    return clear


def _owners(trace: Trace, ids: Array, begun: Array, clear: Array) -> Array:
    """Per task the place in `ids` (ascending) of the operator that launched it, -1 where none is known. begun: of each launch;
    clear: nothing else may have launched what lies before its arrow."""
    wanted = trace.task["correlation"].astype(np.int64)
    known = trace.comm.get("correlation")
    others = np.setdiff1d(known[known >= 0], ids) if known is not None else np.zeros(0, np.int64)
    at = np.searchsorted(ids, wanted)
    inside = (at > 0) & (at < len(ids)) & (wanted >= 0)
    at = np.minimum(at, len(ids) - 1)
    exact = ids[at] == wanted
    between = np.searchsorted(others, wanted) == np.searchsorted(others, ids[at])  # no collective from the task to its arrow
    fits = trace.task["start"] >= begun[at] - CLOCK_SLOP
    own = inside & clear[at] & between & trace.tasks_of("kernel", "aicpu", "copy", "memset")
    owner: Array = np.where((exact | own) & fits, at, -1)
    return owner
