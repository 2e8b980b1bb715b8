"""Rule 33: the host works on results before it launches the next work."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from profiler.analysis.calls import COPY, blocking
from profiler.analysis.context import Context
from profiler.analysis.edits import Aside
from profiler.analysis.groups import changes, largest
from profiler.analysis.judge import REPEAT_MIN, WARNING, Name, judged
from profiler.analysis.own_time import OwnTimes
from profiler.analysis.rules.host import D2H, any_copies, copies_of, in_markers, items, last_anchor, next_anchor, submission
from profiler.findings import Finding
from profiler.trace import Array

NAME = Name("post-process-serial", 33, "host")
EVIDENCE_MOST = 3


def post_process_serial(context: Context) -> Iterator[Finding]:
    """Fires when a thread's own time right after results were copied to the host leaves the device idle for 3 % of the window
    before that thread submits again. Gain: another thread does it, one item behind; at most, because what is submitted next may
    depend on it."""
    own = processing(context)
    count = items(context, own.row)
    idle = int(own.idle.sum())
    if count < REPEAT_MIN or idle < WARNING * context.length:
        return
    facts = {
        "count": count,
        "total_ns": int(own.ns.sum()),
        "each_ns": round(int(own.ns.sum()) / count),
        "idle_ns": idle,
        "idle_share": idle / context.length,
    }
    yield judged(
        context,
        NAME,
        facts,
        (Aside(own.row, own.ns, submission(context, own.row)),),
        confidence="medium",
        evidence=context.calls_shown(own.before[largest(own.ns, EVIDENCE_MOST)]),
        sites=context.sites(own.before),
        at_most=True,
    )


def processing(context: Context) -> OwnTimes:
    """Own times whose last launching, copying or waiting call brought results, and after which the thread submits again."""
    own = context.own_times
    if not len(own.row) or not any_copies(context, D2H):
        return own.only(np.zeros(0, np.int64))
    last = last_anchor(context, own)
    brought = copies_of(context, last, D2H) & blocking(context.trace)[last]
    brought |= _waited_for(context, last)
    following = next_anchor(context, own)
    submits = context.trace.api_named(*COPY) & ~copies_of(context, np.arange(len(context.trace.api)), D2H)
    submits |= context.launches.kernels > 0
    own = own.only(brought & (following >= 0) & submits[following])
    return own.only(in_markers(context, own, "dataloader", "gc") < own.ns)


def _waited_for(context: Context, rows: Array) -> Array:
    """Mask: waits right behind an asynchronous copy to the host."""
    outer = context.outer
    place = np.full(len(context.trace.api), -1, np.int64)
    place[outer] = np.arange(len(outer))
    at = place[np.maximum(rows, 0)]
    before = outer[np.maximum(at - 1, 0)]
    same = ~changes(context.trace.api["thread"][outer])[np.maximum(at, 0)]
    waits = blocking(context.trace)[np.maximum(rows, 0)] & ~context.trace.api_named(*COPY)[np.maximum(rows, 0)]
    found: Array = (rows >= 0) & (at > 0) & same & waits & copies_of(context, before, D2H)
    return found
