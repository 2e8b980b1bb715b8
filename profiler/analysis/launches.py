"""Which call launched which task: the correlation ids of both tables, joined once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from profiler.analysis.calls import column
from profiler.analysis.groups import changes
from profiler.trace import Array, Trace


class Launches(NamedTuple):
    """row: api row per task, -1 without one. first, last: per api row its earliest-starting and latest-ending task, -1
    without any. kernels: number of kernel and AI CPU tasks per api row. time: per task the start of its launching call, or
    its own start where none is known."""

    row: Array
    first: Array
    last: Array
    kernels: Array
    time: Array


def join(trace: Trace) -> Launches:
    """Match task rows to api rows by correlation. Of nested calls with one id the outermost counts."""
    task_ids, api_ids = column(trace, "task", "correlation"), column(trace, "api", "correlation")
    row = np.full(len(trace.task), -1, np.int32)
    first, last = np.full(len(trace.api), -1, np.int32), np.full(len(trace.api), -1, np.int32)
    kernels = np.zeros(len(trace.api), np.int32)
    if not trace.task:
        return Launches(row, first, last, kernels, np.zeros(0, np.int64))
    known = np.flatnonzero(api_ids >= 0)
    if len(known):
        known = known[np.lexsort((trace.api["start"][known], api_ids[known]))]
        where = np.flatnonzero(changes(api_ids[known]))
        ids = api_ids[known[where]]
        at = np.minimum(np.searchsorted(ids, task_ids), len(ids) - 1)
        hit = (task_ids >= 0) & (ids[at] == task_ids)
        row[hit] = known[where[at[hit]]]
    hits = np.flatnonzero(row >= 0)
    late = hits[np.argsort(-trace.task["start"][hits], kind="stable")]
    first[row[late]] = late
    late = hits[np.argsort(trace.task["end"][hits], kind="stable")]
    last[row[late]] = late
    work = hits[trace.tasks_of("kernel", "aicpu")[hits]]
    np.add.at(kernels, row[work], 1)
    time = trace.task["start"].astype(np.int64, copy=True)
    if len(hits):
        time[hits] = trace.api["start"][row[hits]]
    return Launches(row, first, last, kernels, time)


def around(trace: Trace, launches: Launches, hidden: Array, rows: Array) -> tuple[Array, Array, Array]:
    """Per call: row of the kernel launch before it, of the one before that, and after it on its thread (-1 = none). hidden: calls
    inside others that wait, which do not count."""
    before, second, after = (np.full(len(rows), -1, np.int64) for _ in range(3))
    if not len(rows):
        return before, second, after
    api = trace.api
    runs = np.flatnonzero((launches.kernels > 0) & ~hidden)
    for thread in np.unique(api["thread"][rows]):
        own = runs[api["thread"][runs] == thread]
        own = own[np.argsort(api["start"][own], kind="stable")]
        if not len(own):
            continue
        mine = np.flatnonzero(api["thread"][rows] == thread)
        at = np.searchsorted(api["start"][own], api["start"][rows[mine]], side="left")
        for found, shift in ((before, -1), (second, -2), (after, 0)):
            index = at + shift
            good = (index >= 0) & (index < len(own))
            found[mine[good]] = own[index[good]]
    return before, second, after
