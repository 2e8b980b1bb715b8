"""Rule 63: the host waits for the device right before or after it issues a collective."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from profiler.analysis.calls import SYNC, column
from profiler.analysis.context import Context
from profiler.analysis.edits import DropCalls
from profiler.analysis.judge import REPEAT_MIN, Name, bounded, judged
from profiler.analysis.rules.collectives import Exchanges, exchanges, launched
from profiler.findings import Finding
from profiler.trace import Array

NAME = Name("host-sync-around-collective", 63, "communication")
PER_STEP = 2  # waits (catalogue)
CLOSE = 25_000  # ns; a wait that returns so shortly before a collective begins, or after it ends, belongs to it (clock slop)
BY_NAME = ("Hccl", "hcom", "HcomOp")


def host_sync_around_collective(context: Context) -> Iterator[Finding]:
    """Fires when PER_STEP waits of a step stand directly before or after a collective on the thread that issues it; where the
    issuing call was not recorded, when they return within the clock's slop of its start or end. Silent when it happens once per
    step.

    Gain: the waits are dropped; streams keep their order by events. Where no collective is linked to a call: at most the
    device's idle time around their returns.
    """
    found = exchanges(context)
    syncs = context.calls_in_window(context.trace.api_named(*SYNC))
    if not len(found.row) or not len(syncs):
        return
    issuing = _issuing(context, found)
    rows = _neighbours(context, issuing, syncs) if len(issuing) else _around(context, found, syncs)
    if len(rows) < PER_STEP * context.count or len(rows) < REPEAT_MIN:
        return
    api, text = context.trace.api, context.trace.strings
    names, counts = np.unique(api["name"][rows], return_counts=True)
    whole = sum(b.communication for b in context.breakdown)
    facts = {
        "count": len(rows),
        "per_step": round(len(rows) / context.count, 1),
        "collectives": len(found.row),
        "call": text[int(names[int(np.argmax(counts))])],
        "waited_ns": int((api["end"] - api["start"])[rows].sum()),
        "overlap_share": sum(b.overlapped for b in context.breakdown) / max(1, whole),
    }
    if launched(context, found):
        yield judged(context, NAME, facts, (DropCalls(rows),), confidence="medium", sites=context.sites(rows), at_most=True)
    else:
        yield bounded(context, NAME, facts, min(int(str(facts["waited_ns"])), _idle_after(context, rows)), context.sites(rows))


def _idle_after(context: Context, rows: Array) -> int:
    """Idle time of the device around the moment each of these waits returns, ns."""
    moments = np.sort(context.trace.api["end"][rows])
    idle = 0
    for gaps in context.idle.values():
        before, until = (np.searchsorted(moments, side) for side in (gaps.starts, gaps.ends))
        idle += int((gaps.ends - gaps.starts)[until > before].sum())
    return idle


def _issuing(context: Context, found: Exchanges) -> Array:
    """Outer calls that issue the collectives: those that hold the call with their correlation, else HCCL's calls by name."""
    api, outer = context.trace.api, context.outer
    known, ids = context.trace.comm.get("correlation"), column(context.trace, "api", "correlation")
    rows = np.zeros(0, np.int64)
    if known is not None and len(ids):
        wanted = known[found.row]
        rows = np.flatnonzero(np.isin(ids, wanted[wanted >= 0]))
    if not len(rows):
        rows = np.flatnonzero(np.isin(api["name"], context.trace.strings.matching(lambda t: t.startswith(BY_NAME))))
    made = []
    for thread in np.unique(api["thread"][rows]).tolist():
        own = outer[api["thread"][outer] == thread]
        mine = rows[api["thread"][rows] == thread]
        at = np.searchsorted(api["start"][own], api["start"][mine], side="right") - 1
        made.append(own[np.unique(at[at >= 0])])
    return np.concatenate(made) if made else rows


def _neighbours(context: Context, issuing: Array, syncs: Array) -> Array:
    """Waits that are the outer call right before or after an issuing one on its thread."""
    outer = context.outer
    thread = context.trace.api["thread"][outer]
    issues, waits = np.isin(outer, issuing), np.isin(outer, syncs)
    same = thread[1:] == thread[:-1]
    near = np.zeros(len(outer), bool)
    near[1:] |= issues[:-1] & same
    near[:-1] |= issues[1:] & same
    rows: Array = outer[near & waits]
    return rows


def _around(context: Context, found: Exchanges, syncs: Array) -> Array:
    """Waits that return just before a collective begins, or just after it ends."""
    ends = context.trace.api["end"][syncs].astype(np.int64)
    order = np.argsort(ends, kind="stable")
    before = np.searchsorted(ends[order], found.start, side="right") - 1
    after = np.searchsorted(ends[order], found.end, side="left")
    chosen = np.zeros(len(syncs), bool)
    good = (before >= 0) & (found.start - ends[order[np.maximum(before, 0)]] <= CLOSE)
    chosen[order[before[good]]] = True
    last = len(order) - 1
    good = (after <= last) & (ends[order[np.minimum(after, last)]] - found.end <= CLOSE)
    chosen[order[after[good]]] = True
    return syncs[chosen]
