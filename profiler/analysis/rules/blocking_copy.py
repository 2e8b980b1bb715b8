"""Rule 35: copies through the blocking call hold the host while the device has nothing to do."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from profiler import intervals
from profiler.analysis.calls import COPY_BLOCKING
from profiler.analysis.context import Context
from profiler.analysis.edits import Unblock
from profiler.analysis.judge import REPEAT_MIN, Name
from profiler.analysis.rules.copies import D2H, Copies, async_call_ns, in_window, said_of
from profiler.analysis.rules.in_sums import often
from profiler.analysis.statistics import call_sums
from profiler.findings import Finding
from profiler.trace import Array

NAME = Name("blocking-copy", 35, "copy")
LARGER_THAN = 4096  # bytes (catalogue)
READ_AT_ONCE = 5_000  # ns; a next call sooner than this after the return leaves no time to look at the result
EVIDENCE_MOST = 3


def blocking_copy(context: Context) -> Iterator[Finding]:
    """Fires for blocking copies of more than LARGER_THAN bytes during which the device is idle in part.

    Silent for copies to the host that the host may read at once. Gain: the calls return at once and the next launch waits
    for the data on the device; pageable memory is pinned, without which an asynchronous copy blocks as well.
    With sums of calls only: their time, at most, when they come often.
    """
    if not context.trace.api:
        sums = [s for s in call_sums(context.trace) if s.name in COPY_BLOCKING]
        yield from often(context, NAME._replace(id="blocking-copy-sums"), sums)
        return
    copies = in_window(context)
    copies = copies.only(copies.blocking & (copies.bytes > LARGER_THAN))
    copies = copies.only((copies.direction != D2H) | _followed(context, copies))
    if len(copies.rows) < REPEAT_MIN:
        return
    api = context.trace.api
    start, end = api["start"][copies.rows], api["end"][copies.rows]
    calls = intervals.union(start, end)
    idle = sum(intervals.length(intervals.intersect(calls, (g.starts, g.ends))) for g in context.idle.values())
    alone = sum(b.copies for b in context.breakdown)
    if idle + alone <= 0:
        return
    order = np.argsort(-(end - start), kind="stable")[:EVIDENCE_MOST]
    facts = {
        "call": context.trace.strings[int(api["name"][copies.rows[0]])],
        "count": len(copies.rows),
        "total_bytes": int(copies.bytes.sum()),
        "blocked_ns": intervals.length(calls),
        "pageable": int(copies.pageable.sum()),
    }
    yield said_of(context, NAME, facts, Unblock(copies.rows, async_call_ns()), copies, context.calls_shown(copies.rows[order]))


def _followed(context: Context, copies: Copies) -> Array:
    """Mask: the next call of the thread comes so soon that the host cannot have used what was copied."""
    if not len(copies.rows):
        return np.zeros(0, bool)
    api = context.trace.api
    order = np.lexsort((api["start"], api["thread"]))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    at = place[copies.rows]
    following = order[np.minimum(at + 1, len(order) - 1)]
    same = (at + 1 < len(order)) & (api["thread"][following] == api["thread"][copies.rows])
    soon = api["start"][following] - api["end"][copies.rows] < READ_AT_ONCE
    followed: Array = same & soon & (context.launches.first[following] >= 0)
    return followed
