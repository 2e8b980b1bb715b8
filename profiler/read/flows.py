"""Flow arrows of a Chrome trace: they link a call to the task it launched where no connection id does, and framework operators
to their tasks. Ids are compared as they are written; nothing is computed from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from profiler.read import times
from profiler.read.chrome_names import Processes
from profiler.read.events_json import Event
from profiler.trace import Array, Columns

LAUNCH = ("HostToDevice", "ac2g")  # call -> task; ac2g: Kineto
FRAMEWORK = ("async_npu", "torch_to_npu")  # framework operator -> task
FIRST_ID = 3 << 61  # correlation numbers given here begin above all ids of files (tables.MOST_ID) and below 2**63


class Ends(NamedTuple):
    """Ends of arrows of one category, as they came in one piece of the file."""

    ids: list[str]
    tail: Array
    pid: Array
    tid: Array
    at: Array


class Flows:
    """Ends of arrows, gathered by category; categories that link nothing are not kept."""

    def __init__(self) -> None:
        self._ends: dict[str, list[Ends]] = {}

    def add(self, some: Sequence[Event], processes: Processes) -> None:
        groups: dict[str, list[Event]] = {}
        for event in some:
            groups.setdefault(event.cat, []).append(event)
        for category in (*LAUNCH, *FRAMEWORK):
            group = groups.get(category)
            if group:
                numbers = {p: processes.number(p) for p in {e.pid for e in group}}
                ends = Ends(
                    [e.id if type(e.id) is str else str(e.id) for e in group],
                    np.array([e.ph == "s" for e in group]),
                    np.array([numbers[e.pid] for e in group], np.int32),
                    processes.threads([e.tid for e in group]),
                    times.nanoseconds([e.ts for e in group]),
                )
                self._ends.setdefault(category, []).append(ends)

    def link(self, task: Columns, api: Columns, marker: Columns) -> tuple[Columns, Columns, Columns]:
        """The three tables with their correlations completed."""
        for category in LAUNCH:
            if self._ends.get(category) and task and api:
                task, api = self._launches(category, task, api)
        for category in FRAMEWORK:
            if self._ends.get(category) and task and marker and "correlation" in task:
                marker = self._operators(category, task, marker)
        return task, api, marker

    def _pairs(self, category: str) -> tuple[Array, Array, Array, Array, Array, Array]:
        """Process, thread and time of the tails and heads of the arrows that have both ends."""
        ends = self._ends[category]
        ids = [i for e in ends for i in e.ids]
        tail, pid, tid, at = (np.concatenate([e[n] for e in ends]) for n in (1, 2, 3, 4))
        tails = {ids[n]: n for n in np.flatnonzero(tail).tolist()}
        heads = np.flatnonzero(~tail)
        from_ = np.fromiter((tails.get(ids[n], -1) for n in heads.tolist()), np.int64, len(heads))
        s, f = from_[from_ >= 0], heads[from_ >= 0]
        return pid[s], tid[s], at[s], pid[f], tid[f], at[f]

    def _launches(self, category: str, task: Columns, api: Columns) -> tuple[Columns, Columns]:
        """A task without a correlation takes the one of the call its arrow comes from, or both get a new one."""
        task_ids, api_ids = _correlations(task), _correlations(api)
        if (task_ids >= 0).all():
            return task, api
        host_pid, host_tid, host_at, pid, tid, at = self._pairs(category)
        calls = holding(api, host_pid, host_tid, host_at)
        tasks = beginning(task, pid, tid, at)
        known = (calls >= 0) & (tasks >= 0)
        calls, tasks = calls[known], tasks[known]
        without = task_ids[tasks] < 0
        calls, tasks = calls[without], tasks[without]
        new = api_ids[calls] < 0
        api_ids[calls[new]] = FIRST_ID + calls[new]
        task_ids[tasks] = api_ids[calls]
        return task.with_columns(correlation=task_ids), api.with_columns(correlation=api_ids)

    def _operators(self, category: str, task: Columns, marker: Columns) -> Columns:
        host_pid, host_tid, host_at, pid, tid, at = self._pairs(category)
        rows = holding(marker, host_pid, host_tid, host_at)
        tasks = beginning(task, pid, tid, at)
        ids = _correlations(marker)
        known = (rows >= 0) & (tasks >= 0)
        rows, tasks = rows[known], tasks[known]
        free = ids[rows] < 0
        ids[rows[free]] = task["correlation"][tasks[free]]
        return marker.with_columns(correlation=ids)


def _correlations(table: Columns) -> Array:
    found = table.get("correlation")
    return np.full(len(table), -1, np.int64) if found is None else found.astype(np.int64)


def _order(table: Columns, pid: Array, tid: Array) -> tuple[Array, Array, Array]:
    """(rows by thread and start, thread keys in that order, thread keys asked for)."""
    own = table["_pid"].astype(np.int64) << 32 | table["_tid"].astype(np.int64)
    order = np.lexsort((-table["end"], table["start"], own))
    return order, own[order], pid.astype(np.int64) << 32 | tid.astype(np.int64)


def beginning(table: Columns, pid: Array, tid: Array, at: Array) -> Array:
    """The row of each thread that begins at a time; -1 for none."""
    found = _last_begun(table, pid, tid, at)
    return np.where((found >= 0) & (table["start"][found] == at), found, -1)


def holding(table: Columns, pid: Array, tid: Array, at: Array) -> Array:
    """The innermost row of each thread that holds a time (its end included); -1 for none."""
    order, _, _ = _order(table, pid, tid)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    found = _last_begun(table, pid, tid, at)
    own = table["_pid"].astype(np.int64) << 32 | table["_tid"].astype(np.int64)
    wanted = pid.astype(np.int64) << 32 | tid.astype(np.int64)
    for _ in range(8):  # outwards while the row found has ended before the time
        over = (found >= 0) & (table["end"][found] < at)
        if not over.any():
            break
        before = place[found[over]] - 1
        row = np.where(before >= 0, order[np.maximum(before, 0)], -1)
        found[over] = np.where((row >= 0) & (own[row] == wanted[over]), row, -1)
    return np.where((found >= 0) & (table["end"][found] >= at), found, -1)


def _last_begun(table: Columns, pid: Array, tid: Array, at: Array) -> Array:
    order, keys, wanted = _order(table, pid, tid)
    start = table["start"][order]
    made = np.full(len(at), -1, np.int64)
    for key in np.unique(wanted):
        low, high = np.searchsorted(keys, key), np.searchsorted(keys, key, side="right")
        if low == high:
            continue
        mine = wanted == key
        where = low + np.searchsorted(start[low:high], at[mine], side="right") - 1
        made[mine] = np.where(where >= low, order[np.maximum(where, low)], -1)
    return made
