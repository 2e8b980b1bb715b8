"""Rule 21: the host waits for the whole device where one stream would do."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from npu.cost import call_ns
from profiler.analysis.calls import SYNC_DEVICE, SYNC_STREAM
from profiler.analysis.context import Context
from profiler.analysis.edits import CallTime, Narrow
from profiler.analysis.groups import largest, numbered
from profiler.analysis.judge import REPEAT_MIN, Name, at_most, judged
from profiler.analysis.rules.waits import ranking, sync_sums, worth_naming
from profiler.findings import Finding
from profiler.trace import Array

NAME = Name("device-wide-sync", 21, "host")
EVIDENCE_MOST = 3


def device_wide_sync(context: Context) -> Iterator[Finding]:
    """Fires when waits for the whole device that come before another launch last longer than the work on the thread's stream.

    Gain: each waits for the stream its thread launched its last kernel on, at the price of a stream's wait. Silent at the end of
    a program and where nothing else runs and the price is the same. With sums of calls only: their total beyond what as many
    waits for a stream took there, at most.
    """
    if not context.trace.api:
        yield from _from_sums(context)
        return
    rows = _before_launches(context, context.calls_in_window(context.trace.api_named(*SYNC_DEVICE)))
    if len(rows) < REPEAT_MIN:
        return
    api = context.trace.api
    length = api["end"][rows] - api["start"][rows]
    facts = {
        "count": len(rows),
        "call": context.trace.strings[int(api["name"][rows[0]])],
        "waited_ns": int(length.sum()),
        "ranking": ranking(context),
    }
    yield judged(
        context,
        NAME,
        facts,
        (Narrow(rows), CallTime(rows, np.full(len(rows), call_ns(SYNC_STREAM[0])))),
        confidence="high",
        evidence=context.calls_shown(rows[largest(length, EVIDENCE_MOST)]),
        sites=context.sites(rows),
    )


def _before_launches(context: Context, rows: Array) -> Array:
    """The calls after which their thread launches something."""
    api = context.trace.api
    launching = np.flatnonzero(context.launches.kernels > 0)
    thread, count = numbered(api["thread"])
    last = np.full(count, -1, np.int64)
    np.maximum.at(last, thread[launching], api["start"][launching])
    return rows[api["start"][rows] < last[thread[rows]]]


def _from_sums(context: Context) -> Iterator[Finding]:
    sums = sync_sums(context)
    wide = [s for s in sums if s.name in SYNC_DEVICE]
    count, total = sum(s.count for s in wide), sum(s.total_ns for s in wide)
    if count < REPEAT_MIN or not worth_naming(context, total):
        return
    narrow = [s for s in sums if s.name in SYNC_STREAM]
    usual = sum(s.total_ns for s in narrow) / sum(s.count for s in narrow) if narrow else 0
    spared = int(total - count * usual)
    if spared > 0:
        facts = {"count": count, "call": wide[0].name, "waited_ns": total, "ranking": ranking(context)}
        yield at_most(context, NAME, facts, spared)
