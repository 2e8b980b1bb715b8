"""Arrows from a host call to what it launched: which rows stand at their two ends."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from npu import events
from profiler.trace import Array, Columns, Trace

# Which of several calls of one correlation holds the tail: the launch itself, else the call around it.
_TAIL_ORDER = ("node", "acl", "model", "communication", "runtime")


class Flows(NamedTuple):
    """Pairs by correlation: the api row of the tail; the task row or (comm is True) the comm row of the head."""

    correlation: Array
    api: Array
    head: Array
    comm: Array


def flows(trace: Trace) -> Flows:
    """One pair per correlation that has both a host call and something on a device.

    The head is the communication operator if there is one, else the first task: a call that starts a whole model has one
    arrow, to its first kernel. All tasks carry the connection id in their arguments.
    """
    tails, tail_rows = launching_calls(trace)
    tasks, task_rows = _first(trace.task, np.arange(len(trace.task)), None, "start")
    ops = np.flatnonzero(trace.comm["level"] == events.COMM_LEVELS.index("op")) if trace.comm else np.zeros(0, np.int64)
    comms, comm_rows = _first(trace.comm.take(ops) if trace.comm else trace.comm, ops, None, "start")
    tasks, task_rows = _without(tasks, task_rows, comms)
    ids = np.concatenate((comms, tasks))
    heads = np.concatenate((comm_rows, task_rows))
    is_comm = np.arange(len(ids)) < len(comms)
    shared, at_tail, at_head = np.intersect1d(tails, ids, assume_unique=True, return_indices=True)
    return Flows(shared, tail_rows[at_tail], heads[at_head], is_comm[at_head])


def launching_calls(trace: Trace) -> tuple[Array, Array]:
    """(correlations, api rows): the one call of each correlation that launched what carries it."""
    return _first(trace.api, np.arange(len(trace.api)), _rank(trace.api), "start")


def launch_times(trace: Trace, table: Columns, rows: Array) -> Array:
    """For rows of the task or comm table when the call that launched each began, its own start where none is known, ns."""
    times: Array = table["start"][rows].astype(np.int64) if len(rows) else np.zeros(0, np.int64)
    ids, calls = launching_calls(trace)
    if not len(times) or not len(ids) or "correlation" not in table:
        return times
    mine = table["correlation"][rows]
    at = np.minimum(np.searchsorted(ids, mine), len(ids) - 1)
    hit = (mine >= 0) & (ids[at] == mine)
    times[hit] = trace.api["start"][calls[at[hit]]]
    return times


def launched_by_communication(trace: Trace) -> Array:
    """Mask of the task rows that a communication operator launched."""
    ops = trace.comm["level"] == events.COMM_LEVELS.index("op") if trace.comm else np.zeros(0, bool)
    if not ops.any() or "correlation" not in trace.comm or "correlation" not in trace.task:
        return np.zeros(len(trace.task), bool)
    launched = trace.comm["correlation"][ops]
    return np.isin(trace.task["correlation"], launched[launched >= 0])


def _rank(api: Columns) -> Array | None:
    if not api:
        return None
    order = np.array([_TAIL_ORDER.index(level) for level in events.LEVELS])
    return np.asarray(order[api["level"]])


def _first(table: Columns, rows: Array, rank: Array | None, time: str) -> tuple[Array, Array]:
    """(correlations, rows): for each correlation its row of lowest rank, then earliest time."""
    if not table or "correlation" not in table:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    keys = (table[time],) if rank is None else (table[time], rank)
    order = np.lexsort((*keys, table["correlation"]))
    ids, first = np.unique(table["correlation"][order], return_index=True)
    real = ids >= 0
    return ids[real].astype(np.int64), rows[order[first[real]]]


def _without(ids: Array, rows: Array, others: Array) -> tuple[Array, Array]:
    keep = ~np.isin(ids, others)
    return ids[keep], rows[keep]
