"""Which call launched which task: the correlation ids of both tables, joined once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from profiler.analysis.calls import column
from profiler.analysis.groups import SPREAD
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
        row = _owners(np.take(api_ids, known), np.take(trace.api["start"], known), known, task_ids)
    hits = np.flatnonzero(row >= 0)
    calls = np.take(row, hits)
    first[calls] = hits
    if np.array_equal(np.take(first, calls), hits):  # one task a call
        last = first
    else:
        order = np.argsort(-np.take(trace.task["start"], hits), kind="stable")
        first[np.take(calls, order)] = np.take(hits, order)
        order = np.argsort(np.take(trace.task["end"], hits), kind="stable")
        last[np.take(calls, order)] = np.take(hits, order)
    if len(hits):
        kernels += np.bincount(calls[np.take(trace.tasks_of("kernel", "aicpu"), hits)], minlength=len(kernels)).astype(np.int32)
    if len(hits) == len(row):
        return Launches(row, first, last, kernels, np.take(trace.api["start"], row).astype(np.int64, copy=False))
    time = trace.task["start"].astype(np.int64, copy=True)
    if len(hits):
        time[hits] = np.take(trace.api["start"], calls)
    return Launches(row, first, last, kernels, time)


def _owners(ids: Array, starts: Array, rows: Array, wanted: Array) -> Array:
    """Per wanted id the row with it that started first, -1 without one. Ids are counted where they lie close together."""
    if (starts[1:] < starts[:-1]).any():
        order = np.argsort(starts, kind="stable")
        ids, rows = ids[order], rows[order]
    found = np.full(len(wanted), -1, np.int32)
    low = int(ids.min())
    span = int(ids.max()) - low + 1
    if span <= SPREAD * (len(ids) + len(wanted)) + 1024:
        table = np.full(span, -1, np.int32)
        table[ids[::-1] - low] = rows[::-1]  # of equal ids the first is written last
        inside = (wanted >= max(low, 0)) & (wanted < low + span)
        if inside.all():
            return np.take(table, wanted - low)
        found[inside] = np.take(table, wanted[inside] - low)
        return found
    order = np.argsort(ids, kind="stable")
    ids, rows = ids[order], rows[order]
    at = np.minimum(np.searchsorted(ids, wanted), len(ids) - 1)
    hit = (wanted >= 0) & (ids[at] == wanted)
    found[hit] = rows[at[hit]]
    return found


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
