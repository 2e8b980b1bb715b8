"""Which call launched which task: the correlation ids of both tables, joined once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from profiler.analysis.calls import column
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
    row = np.full(len(trace.task), -1, np.int64)
    first, last = np.full(len(trace.api), -1, np.int64), np.full(len(trace.api), -1, np.int64)
    kernels = np.zeros(len(trace.api), np.int64)
    if not trace.task:
        return Launches(row, first, last, kernels, np.zeros(0, np.int64))
    known = np.flatnonzero(api_ids >= 0)
    if len(known):
        known = known[np.lexsort((trace.api["start"][known], api_ids[known]))]
        ids, where = np.unique(api_ids[known], return_index=True)
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
