"""Copy calls and the copies they launched: joined where the file gives no id and there is only one way, and what one of them
tells of size and direction is told of the other."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from npu import events
from profiler.trace import Array, Columns, Trace

SLOP = 25_000  # ns by which the clocks of host and device may differ (spec of the analyzer, section 1)
CALLS = ("aclrtMemcpy", "rtMemcpy", "MemcpyAsync", "MemCopy", "cudaMemcpy", "hipMemcpy")
COLUMNS = ("direction", "bytes")
TOLD = (*COLUMNS, "host_kind")  # of the copy, told of its call


def describe(trace: Trace) -> None:
    """Join what has no id, then fill `direction`, `bytes` and `host_kind` of copy calls by correlation; what is there stays."""
    _join(trace)
    task, api = trace.task, trace.api
    if not task or not api or "correlation" not in task or "correlation" not in api:
        return
    rows = np.flatnonzero((task["kind"] == events.KINDS.index("copy")) & (task["correlation"] >= 0))
    calls = np.flatnonzero(
        np.isin(api["name"], trace.strings.matching(lambda t: t.startswith(CALLS))) & (api["correlation"] >= 0)
    )
    if not len(rows) or not len(calls):
        return
    ids, first = np.unique(task["correlation"][rows], return_index=True)
    at = np.minimum(np.searchsorted(ids, api["correlation"][calls]), len(ids) - 1)
    hit = ids[at] == api["correlation"][calls]
    calls, rows = calls[hit], rows[first[at[hit]]]
    made = {}
    for name in TOLD:
        source = task.get(name)
        if source is None or not (source[rows] >= 0).any():
            continue
        column = api[name].copy() if name in api else np.full(len(api), -1, source.dtype)
        column[calls] = np.where(column[calls] < 0, source[rows], column[calls])
        made[name] = column
    if made:
        trace.api = api.with_columns(**made)


def _join(trace: Trace) -> None:
    """Give copy calls without an id that of their copy: of each direction and size (of all, where calls tell neither) there are
    as many calls as copies without a call, and each copy begins no sooner than its call."""
    task, api = trace.task, trace.api
    if not task or not api:
        return
    called = np.isin(api["name"], trace.strings.matching(lambda t: t.startswith(CALLS)))
    none = np.full(len(api), -1, np.int64)
    api_id, task_id = api.get("correlation", none), task.get("correlation", np.full(len(task), -1, np.int64))
    calls = np.flatnonzero(called & (api_id < 0))
    copies = np.flatnonzero((task["kind"] == events.KINDS.index("copy")) & ~np.isin(task_id, api_id[api_id >= 0]))
    if not len(calls) or not len(copies):
        return
    api_id, task_id = api_id.astype(np.int64), task_id.astype(np.int64)
    fresh = int(max(api_id.max(), task_id.max(), 0)) + 1
    for mine, theirs in _alike(api, task, calls, copies):
        first = mine[np.argsort(api["start"][mine], kind="stable")]
        then = theirs[np.argsort(task["start"][theirs], kind="stable")]
        if len(first) != len(then) or (task["start"][then] < api["start"][first] - SLOP).any():
            continue
        known = task_id[then]
        new = np.where(known >= 0, known, fresh + np.arange(len(then)))
        fresh += len(then)
        if len(np.unique(new)) == len(new):
            api_id[first], task_id[then] = new, new
    if (api_id[calls] < 0).all():
        return
    trace.api, trace.task = api.with_columns(correlation=api_id), task.with_columns(correlation=task_id)


def _alike(api: Columns, task: Columns, calls: Array, copies: Array) -> Iterator[tuple[Array, Array]]:
    """Calls and copies of one direction and size, where calls tell them; else all of them."""
    names = [n for n in COLUMNS if n in api and n in task and (api[n][calls] >= 0).all() and (task[n][copies] >= 0).all()]
    if not names:
        yield calls, copies
        return
    of_call = np.stack([api[n][calls].astype(np.int64) for n in names], axis=1)
    of_copy = np.stack([task[n][copies].astype(np.int64) for n in names], axis=1)
    for kind in np.unique(of_call, axis=0):
        yield calls[(of_call == kind).all(axis=1)], copies[(of_copy == kind).all(axis=1)]
