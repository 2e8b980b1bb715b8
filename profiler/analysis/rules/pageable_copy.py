"""Rule 34: copies use pageable host memory, which the copy engines cannot reach directly."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from npu import events
from profiler.analysis.calls import COPY, blocking, column
from profiler.analysis.context import Context
from profiler.analysis.edits import CallTime, Edit, Unblock
from profiler.analysis.groups import largest
from profiler.analysis.judge import REPEAT_MIN, Name, at_most, judged
from profiler.analysis.rules.copies import D2H, H2D, PAGEABLE, Copies, async_call_ns, in_window, pinned
from profiler.findings import Finding
from profiler.trace import Array

NAME = Name("pageable-copy", 34, "copy")
ASYNC = "Async"
EVIDENCE_MOST = 3


def pageable_copy(context: Context) -> Iterator[Finding]:
    """Fires when copies between host and device use pageable memory: recorded so, or told by calls named asynchronous that return
    only after their task has ended (medium).

    Gain: the copies at the speed of pinned memory, and calls that do not wait. Copies whose tasks are not linked to their calls
    are judged by their calls' time, at most. Silent once per run.
    """
    if not context.trace.api:
        return
    copies = in_window(context)
    between = (copies.direction == H2D) | (copies.direction == D2H)
    told = _told(context, copies)
    chosen = copies.only((copies.pageable | told) & between)
    if len(chosen.rows) >= REPEAT_MIN:
        yield _finding(context, chosen._replace(pageable=np.ones(len(chosen.rows), bool)), bool(told.any()))
    elif not len(copies.rows):
        yield from _unlinked(context)


def _told(context: Context, copies: Copies) -> Array:
    """Mask: of unknown host memory, by a call named asynchronous that ends after its task."""
    api, task = context.trace.api, context.trace.task
    if not len(copies.rows):
        return np.zeros(0, bool)
    unknown = column(context.trace, "api", "host_kind")[copies.rows] < 0
    unknown &= column(context.trace, "task", "host_kind")[copies.task] < 0
    waited: Array = unknown & _named_async(context, copies.rows) & (api["end"][copies.rows] >= task["end"][copies.task])
    return waited


def _named_async(context: Context, rows: Array) -> Array:
    return np.isin(context.trace.api["name"][rows], context.trace.strings.matching(lambda text: ASYNC in text))


def _finding(context: Context, chosen: Copies, told: bool) -> Finding:
    api = context.trace.api
    length = api["end"][chosen.rows] - api["start"][chosen.rows]
    # A blocking call of pinned memory still waits (rule 35); that it does goes with the same change of the call.
    waits = blocking(context.trace)[chosen.rows] | (_named_async(context, chosen.rows) & told)
    held, staged = chosen.rows[waits], chosen.rows[~waits]
    edits: tuple[Edit, ...] = (
        Unblock(held, async_call_ns()),
        CallTime(staged, np.full(len(staged), async_call_ns())),
        *pinned(context, chosen),
    )
    facts = _facts(context, chosen.rows, chosen.direction, int(np.maximum(chosen.bytes, 0).sum()))
    return judged(
        context,
        NAME,
        facts,
        edits,
        confidence="medium",
        evidence=context.calls_shown(chosen.rows[largest(length, EVIDENCE_MOST)]),
        sites=context.sites(chosen.rows),
        method="model",
    )


def _facts(context: Context, rows: Array, direction: Array, total: int) -> dict[str, object]:
    api = context.trace.api
    names, counts = np.unique(api["name"][rows], return_counts=True)
    ways = [events.DIRECTIONS[d].upper() for d in np.unique(direction[direction >= 0]).tolist()]
    return {
        "count": len(rows),
        "call": context.trace.strings[int(names[np.argmax(counts)])],
        "directions": ", ".join(ways) or "-",
        "total_bytes": total,
        "host_ns": int((api["end"] - api["start"])[rows].sum()),
        "waiting": int(blocking(context.trace)[rows].sum()),
    }


def _unlinked(context: Context) -> Iterator[Finding]:
    """Calls alone: what they take beyond an asynchronous call, at most."""
    trace = context.trace
    kinds = column(trace, "api", "host_kind")
    rows = context.calls_in_window(trace.api_named(*COPY) & (kinds == PAGEABLE))
    if len(rows) < REPEAT_MIN:
        return
    size = np.maximum(column(trace, "api", "bytes")[rows], 0)
    spent = int((trace.api["end"] - trace.api["start"])[rows].sum()) - len(rows) * async_call_ns()
    if spent > 0:
        facts = _facts(context, rows, column(trace, "api", "direction")[rows], int(size.sum()))
        yield at_most(context, NAME, facts, spent)
