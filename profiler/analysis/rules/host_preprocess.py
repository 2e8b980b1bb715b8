"""Rule 24: the host prepares the next input while the device has nothing to do."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from profiler.analysis.context import Context
from profiler.analysis.edits import Aside, OwnTime
from profiler.analysis.groups import largest
from profiler.analysis.judge import REPEAT_MIN, Name, judged
from profiler.analysis.own_time import OwnTimes
from profiler.analysis.rules.host import H2D, any_copies, copies_of, in_markers, items, next_anchor, submission
from profiler.findings import Finding

NAME = Name("host-preprocess", 24, "host")
IDLE_SHARE = 0.05  # of the window the device is idle meanwhile (catalogue)
EVIDENCE_MOST = 3


def host_preprocess(context: Context) -> Iterator[Finding]:
    """Fires when a thread's own time before copies to the device (with the framework operators in it, without data loading and
    garbage collection) leaves the device idle for IDLE_SHARE of the window. Gain: another thread prepares one item
    ahead; beside it stands what it would be if the host had nothing to prepare.
    Silent when the device is busy meanwhile."""
    own = preparing(context)
    count = items(context, own.row)
    idle = int(own.idle.sum())
    if count < REPEAT_MIN or idle < IDLE_SHARE * context.length:
        return
    time = own.ns - in_markers(context, own, "dataloader", "gc")
    facts = {
        "count": count,
        "total_ns": int(time.sum()),
        "each_ns": round(int(time.sum()) / count),
        "idle_ns": idle,
        "idle_share": idle / context.length,
        "gone_ns": max(0, context.gain((OwnTime(own.row, own.ns - time),))),
    }
    longest = own.row[largest(time, EVIDENCE_MOST)]
    yield judged(
        context,
        NAME,
        facts,
        (Aside(own.row, time, submission(context, own.row)),),
        confidence="medium",
        evidence=context.calls_shown(longest),
        sites=context.sites(own.row[copies_of(context, own.row, H2D)]) or context.sites(own.row),
    )


def preparing(context: Context) -> OwnTimes:
    """Own times whose next launching, copying or waiting call copies to the device."""
    own = context.own_times
    if not len(own.row) or not any_copies(context, H2D):
        return own.only(np.zeros(0, np.int64))
    own = own.only(copies_of(context, next_anchor(context, own), H2D))
    return own.only(in_markers(context, own, "dataloader", "gc") < own.ns)
