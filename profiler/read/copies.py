"""Copy calls take size and direction from the copy they launched, where the call itself does not tell."""

from __future__ import annotations

import numpy as np

from npu import events
from profiler.trace import Trace

CALLS = ("aclrtMemcpy", "rtMemcpy", "MemcpyAsync", "MemCopy")
COLUMNS = ("direction", "bytes")


def describe(trace: Trace) -> None:
    """Fill `direction` and `bytes` of copy calls by correlation; what the file said is kept."""
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
    for name in COLUMNS:
        source = task.get(name)
        if source is None or not (source[rows] >= 0).any():
            continue
        column = api[name].copy() if name in api else np.full(len(api), -1, source.dtype)
        column[calls] = np.where(column[calls] < 0, source[rows], column[calls])
        made[name] = column
    if made:
        trace.api = api.with_columns(**made)
