"""The framework's operators in a trace: which rows they are, how they are nested, and what each launched."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from npu import events
from profiler.export import columns
from profiler.export.flows import launching_calls
from profiler.trace import Array, Columns, Trace

CORES = ("AI_CORE", "AI_VECTOR_CORE", "MIX_AIC", "MIX_AIV")
ORDER = ("HCCL", "EVENT_RECORD", "EVENT_WAIT")  # tasks that do nothing themselves; the comm table has what HCCL does
OPERATOR, STEP = events.MARKERS.index("cpu_op"), events.MARKERS.index("step")


def operators(trace: Trace, steps: bool = False) -> Array:
    """Rows of the marker table that are operators (or steps, too), in order of time, those around others first."""
    if not trace.marker or not (trace.marker["kind"] == OPERATOR).any():
        return np.zeros(0, np.int64)
    kinds = (OPERATOR, STEP) if steps else (OPERATOR,)
    rows = np.flatnonzero(np.isin(trace.marker["kind"], kinds))
    return rows[np.lexsort((-trace.marker["end"][rows], trace.marker["start"][rows]))]


def parents(trace: Trace, rows: Array) -> list[int]:
    """For each of some operators the place in `rows` of the one it runs in on its thread, -1 outside of all."""
    starts, ends, threads = (trace.marker[n][rows].tolist() for n in ("start", "end", "thread"))
    open_: dict[int, list[int]] = {}
    made = []
    for n, (start, end, thread) in enumerate(zip(starts, ends, threads, strict=True)):
        stack = open_.setdefault(thread, [])
        while stack and ends[stack[-1]] < max(end, start + 1):
            stack.pop()
        made.append(stack[-1] if stack else -1)
        stack.append(n)
    return made


class Times(NamedTuple):
    """ns of each operator: on the host without and with the operators inside it; what it launched itself and with them; the same
    of kernels on cores only."""

    own: Array
    total: Array
    launched: Array
    launched_total: Array
    on_cores: Array
    on_cores_total: Array


def times(trace: Trace, rows: Array) -> Times:
    """Times of some operators (as operators() gives them)."""
    if not len(rows):
        return Times(*(np.zeros(0, np.int64) for _ in Times._fields))
    above = parents(trace, rows)
    total = (trace.marker["end"][rows] - trace.marker["start"][rows]).astype(np.int64)
    own = total.copy()
    for n, parent in enumerate(above):
        if parent >= 0:
            own[parent] -= total[n]
    device = [_launched(trace, rows, above, cores) for cores in (False, True)]
    sums = [d.copy() for d in device]
    for n in range(len(above) - 1, -1, -1):  # those inside come after
        if above[n] >= 0:
            for held in sums:
                held[above[n]] += held[n]
    return Times(own, total, device[0], sums[0], device[1], sums[1])


def owners(trace: Trace, rows: Array, above: list[int], table: Columns) -> Array:
    """For each row of the task or comm table the place in `rows` (operators, as operators() gives them) of the innermost operator
    under way on the thread that launched it, when it did; -1 where none was. above: their parents."""
    made = np.full(len(table), -1, np.int64)
    ids, calls = launching_calls(trace)
    if not len(made) or not len(ids) or not len(rows):
        return made
    carried = columns.column(table, "correlation")
    which = np.minimum(np.searchsorted(ids, carried), len(ids) - 1)
    hit = np.flatnonzero((carried >= 0) & (ids[which] == carried))
    call = calls[which[hit]]
    times, threads = trace.api["start"][call], trace.api["thread"][call]
    starts, ends, lanes = (trace.marker[n][rows] for n in ("start", "end", "thread"))
    parent = np.array([*above, -1], np.int64)  # the parent of none (-1, the last place) is none
    for lane in np.unique(threads).tolist():
        mine, at = np.flatnonzero(lanes == lane), np.flatnonzero(threads == lane)
        found = np.searchsorted(starts[mine], times[at], side="right") - 1
        place = np.where(found >= 0, mine[found] if len(mine) else -1, -1)
        while (over := (place >= 0) & (ends[place] < times[at])).any():
            place[over] = parent[place[over]]
        made[hit[at]] = place
    return made


def _launched(trace: Trace, rows: Array, above: list[int], cores: bool) -> Array:
    """ns of the tasks (cores: of those on cores) and communication operators that each operator launched itself."""
    made = np.zeros(len(rows), np.int64)
    for table in (trace.task, trace.comm):
        if not table or (cores and table is trace.comm):
            continue
        owner = owners(trace, rows, above, table)
        hit = owner >= 0
        if table is trace.comm:
            hit &= table["level"] == events.COMM_LEVELS.index("op")
        else:
            kinds = columns.texts_of(trace.strings, columns.column(table, "task_type"), "")
            hit &= np.array([(k in CORES) if cores else k not in ORDER for k in kinds], bool)
        np.add.at(made, owner[hit], (table["end"] - table["start"])[hit])
    return made


def stacks(trace: Trace, rows: Array) -> Array:
    """Ids of the call stacks of operators: their own, else that of the call they launched with; -1 where none was recorded."""
    own = columns.column(trace.marker, "stack")[rows].astype(np.int64)
    if not trace.api or "stack" not in trace.api:
        return own
    ids, calls = launching_calls(trace)
    if not len(ids):
        return own
    mine = columns.column(trace.marker, "correlation")[rows]
    at = np.minimum(np.searchsorted(ids, mine), len(ids) - 1)
    hit = (own < 0) & (mine >= 0) & (ids[at] == mine)
    return np.where(hit, columns.column(trace.api, "stack")[calls[at]], own)


def covering(trace: Trace, times: Array) -> list[str]:
    """The name of the operator under way at each time, "" where there is none."""
    rows = operators(trace)
    if not len(rows):
        return [""] * len(times)
    starts, ends = trace.marker["start"][rows], trace.marker["end"][rows]
    at = np.searchsorted(starts, times, side="right") - 1
    inside = (at >= 0) & (times <= ends[at])
    names = columns.column(trace.marker, "name")[rows]
    return [trace.strings[int(names[a])] if i else "" for a, i in zip(at.tolist(), inside.tolist(), strict=True)]
