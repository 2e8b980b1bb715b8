"""Rule 25: the device waits for the data loader."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from profiler.analysis.context import Context
from profiler.analysis.edits import Aside, OwnTime, SetTo
from profiler.analysis.judge import REPEAT_MIN, WARNING, Name, judged, severity, weight
from profiler.analysis.rules.host import idle_of, in_markers, items, marked, submission
from profiler.analysis.rules.kernels import kernels, most_frequent, named, of_type, said_of
from profiler.findings import Evidence, Finding

NAME = Name("input-starved", 25, "host")
QUEUE = Name("input-queue-empty", 25, "host")
# Operators that take the next item out of a queue the host fills (data sinking): what they take longer is the host's lateness.
DEQUEUES = ("GetNext", "GetNextV2", "GetNextFromQueue", "IteratorGetNext", "DynamicGetNext", "DynamicGetNextV2", "QueueDequeue")
EVIDENCE_MOST = 3


def input_starved(context: Context) -> Iterator[Finding]:
    """Fires when the device is idle for 3 % of the window while a thread loads data (marker dataloader), the worst single time
    left out: the first step of an epoch alone is no finding. Gain: another thread loads one item ahead; beside it
    stands what enough workers gain, by which the severity goes. Apart from that, when kernels that take an item out of the input
    queue last 3 % of the window beyond the shortest of them, the worst left out; gain: all take as long as that one."""
    yield from _queue_empty(context)
    spans = marked(context, "dataloader")
    inside = (spans.ends > context.window[0]) & (spans.starts < context.window[1])
    starts, ends = np.maximum(spans.starts[inside], context.window[0]), np.minimum(spans.ends[inside], context.window[1])
    if len(starts) < REPEAT_MIN:
        return
    idle = idle_of(context, starts, ends)
    if int(idle.sum()) - int(idle.max()) < WARNING * context.length:
        return
    own = context.own_times
    own = own.only(in_markers(context, own, "dataloader") > 0)
    count = max(1, items(context, own.row))
    loading = in_markers(context, own, "dataloader")
    gone = max(0, context.gain((OwnTime(own.row, own.ns - loading),)))
    facts = {
        "count": len(starts),
        "total_ns": int((ends - starts).sum()),
        "each_ns": round(int((ends - starts).sum()) / len(starts)),
        "idle_ns": int(idle.sum()),
        "idle_share": int(idle.sum()) / context.length,
        "per_step": round(count / context.count, 1),
        "gone_ns": gone,
    }
    worst = np.argsort(-idle, kind="stable")[:EVIDENCE_MOST]
    found = judged(
        context,
        NAME,
        facts,
        (Aside(own.row, loading, submission(context, own.row)),),
        confidence="high",
        evidence=tuple(Evidence("dataloader", int(starts[i]), int(ends[i]), "marker") for i in worst),
        sites=context.sites(own.row),
    )
    yield replace(found, severity=severity(max(gone, weight(found)), context.length, "high"))


def _queue_empty(context: Context) -> Iterator[Finding]:
    if "op_type" not in context.trace.task:
        return
    rows = kernels(context)
    rows = rows[of_type(context, rows, named(*DEQUEUES))]
    if len(rows) < REPEAT_MIN:
        return
    length = context.basis.durations(rows)
    beyond = length - int(length.min())
    if int(beyond.sum()) - int(beyond.max()) < WARNING * context.length:
        return
    facts = {
        "count": len(rows),
        "ops": most_frequent(context, rows, "op_type"),
        "total_ns": int(length.sum()),
        "longest_ns": int(length.max()),
        "shortest_ns": int(length.min()),
    }
    yield said_of(context, QUEUE, facts, rows, (SetTo(rows, np.full(len(rows), int(length.min()))),), at_most=True)
