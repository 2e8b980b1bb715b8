"""Rule 39: copies of the next input run while the device computes nothing, though they could run beside the computation."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from profiler import intervals
from profiler.analysis.context import Context
from profiler.analysis.edits import Overlap
from profiler.analysis.gaps import busy
from profiler.analysis.judge import REPEAT_MIN, Name
from profiler.analysis.rules.copies import H2D, Copies, async_call_ns, in_window, said_of
from profiler.findings import Finding
from profiler.trace import Array

NAME = Name("copy-exposed", 39, "copy")
EXPOSED_SHARE = 0.03  # of the window (catalogue)
EVIDENCE_MOST = 3


def copy_exposed(context: Context) -> Iterator[Finding]:
    """Fires when copies that nothing covers take EXPOSED_SHARE of the window and copies to the device come between launches.

    Gain: these copies on a stream of their own, from pinned memory, each issued one submission earlier into the second of two
    buffers. Silent when there is no launch before a copy to run beside it.
    """
    copies = in_window(context)
    copies = copies.only((copies.direction == H2D) & _between_launches(context, copies))
    if len(copies.rows) < REPEAT_MIN:
        return
    task = context.trace.task
    exposed = total = 0
    for device in context.idle:
        mine = copies.task[task["device"][copies.task] == device]
        spans = intervals.union(task["start"][mine], task["end"][mine])
        total += intervals.length(spans)
        exposed += intervals.length(intervals.subtract(spans, busy(context.trace, device, copies=False)))
    if exposed < EXPOSED_SHARE * context.length:
        return
    duration = task["end"][copies.task] - task["start"][copies.task]
    order = np.argsort(-duration, kind="stable")[:EVIDENCE_MOST]
    facts = {
        "count": len(copies.rows),
        "total_bytes": int(copies.bytes.sum()),
        "exposed_ns": exposed,
        "hidden_share": 1 - exposed / total,
        "gbps": float(copies.bytes.sum() / max(1, int(duration.sum()))),
        "pageable": int(copies.pageable.sum()),
        "blocking": int(copies.blocking.sum()),
    }
    yield said_of(context, NAME, facts, Overlap(copies.rows, async_call_ns()), copies, context.tasks_shown(copies.task[order]))


def _between_launches(context: Context, copies: Copies) -> Array:
    """Mask: the thread launched kernels before the copy and does so after it."""
    if not len(copies.rows):
        return np.zeros(0, bool)
    api = context.trace.api
    launching = np.flatnonzero(context.launches.kernels > 0)
    result = np.zeros(len(copies.rows), bool)
    for thread in np.unique(api["thread"][copies.rows]):
        launches = np.sort(api["start"][launching[api["thread"][launching] == thread]])
        mine = api["thread"][copies.rows] == thread
        at = np.searchsorted(launches, api["start"][copies.rows[mine]])
        result[mine] = (at > 0) & (at < len(launches))
    return result
