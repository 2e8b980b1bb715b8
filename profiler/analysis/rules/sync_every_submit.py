"""Rule 20: the host waits after every submission, so host and device take turns."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from npu import events
from profiler.analysis.calls import COPY, SYNC_DEVICE, SYNC_STREAM, column
from profiler.analysis.context import Context
from profiler.analysis.edits import DropCalls
from profiler.analysis.groups import largest
from profiler.analysis.judge import REPEAT_MIN, Name, at_most, judged
from profiler.analysis.rules.in_sums import executions, launches, often
from profiler.analysis.rules.waits import ranking, worth_naming
from profiler.analysis.statistics import call_sums
from profiler.findings import Finding
from profiler.trace import Array

NAME = Name("sync-every-submit", 20, "host")
SUBMITS_MOST = 2  # kernel launches between two waits; with more of them the wait is per batch already
SEVERAL_MOST = 16  # the same, where a step has several waits: then it is no batch
LAUNCHES_MOST = 50  # between two waits; a step of training has hundreds
DIRECT_SHARE = 0.5  # of the waits that follow their launch directly
EVIDENCE_MOST = 3


def sync_every_submit(context: Context) -> Iterator[Finding]:
    """Fires when over half of the stream waits of the window follow one launch (at most SUBMITS_MOST; at most SEVERAL_MOST where
    there are several waits in each marked step) directly and the device is idle after them. Silent where the host reads results
    between the wait and the next launch. The last wait of a thread always stays. Gain: the same run without these calls. With
    sums of calls only: their total, at most, when there are as many waits as half of the model executions, or one for few
    launches of single kernels.
    """
    if not context.trace.api:
        yield from _from_sums(context)
        return
    syncs = context.calls_in_window(context.trace.api_named(*SYNC_STREAM, *SYNC_DEVICE))
    if len(syncs) < REPEAT_MIN:
        return
    several = context.steps.kind == "marker" and len(syncs) >= 2 * context.count
    chosen, next_launch, total = direct(context, syncs, SEVERAL_MOST if several else SUBMITS_MOST)
    if len(chosen) < REPEAT_MIN or len(chosen) <= DIRECT_SHARE * total:
        return
    api, task = context.trace.api, context.trace.task
    bubble = task["start"][context.launches.first[next_launch]] - api["end"][chosen]
    idle = _idle_at(context, api["end"][chosen]) & (bubble > 0)
    if idle.sum() <= DIRECT_SHARE * len(chosen):
        return
    longest = chosen[largest(bubble, EVIDENCE_MOST)]
    stream = column(context.trace, "api", "stream")[chosen]
    facts = {
        "call": context.trace.strings[int(api["name"][chosen[0]])],
        "count": len(chosen),
        "per_step": round(len(chosen) / context.count, 1),
        "waited_ns": int((api["end"] - api["start"])[chosen].sum()),
        "bubble_ns": int(bubble[idle].mean()),
    }
    yield judged(
        context,
        NAME,
        facts,
        (DropCalls(chosen),),
        confidence="high" if (stream >= 0).all() else "medium",
        evidence=context.calls_shown(longest),
        sites=context.sites(chosen),
    )


def _from_sums(context: Context) -> Iterator[Finding]:
    sums = call_sums(context.trace)
    mine = [s for s in sums if s.name in SYNC_STREAM]
    count, total = sum(s.count for s in mine), sum(s.total_ns for s in mine)
    runs = executions(context)
    if not runs and 0 < launches(context) <= LAUNCHES_MOST * count:
        yield from often(context, NAME._replace(id="sync-often-sums"), mine)
    if runs and count >= max(REPEAT_MIN, DIRECT_SHARE * runs) and worth_naming(context, total):
        facts = {
            "call": mine[0].name,
            "count": count,
            "per_step": round(count / runs, 1),
            "waited_ns": total,
            "ranking": ranking(context),
        }
        yield at_most(context, NAME._replace(id="sync-every-submit-sums"), facts, total)


def direct(context: Context, syncs: Array, most: int = SUBMITS_MOST) -> tuple[Array, Array, int]:
    """Waits that follow at most `most` launches and precede another one with no reading of results in between; the
    launch after each; and how many waits were looked at (those that have a launch before and after)."""
    api = context.trace.api
    launching = (context.launches.kernels > 0) & ~context.graph.chains.hidden
    d2h = context.trace.api_named(*COPY) & (column(context.trace, "api", "direction") == events.DIRECTIONS.index("d2h"))
    chosen, following, total = [], [], 0
    for thread in np.unique(api["thread"][syncs]):
        mine = syncs[api["thread"][syncs] == thread]
        begun = api["start"][mine]
        submits = np.flatnonzero(launching & (api["thread"] == thread))
        submits = submits[np.argsort(api["start"][submits], kind="stable")]
        reads = np.sort(api["start"][d2h & (api["thread"] == thread)])
        if not len(submits):
            continue
        before = np.searchsorted(api["start"][submits], begun)
        between = np.diff(before, prepend=0)
        has_next = before < len(submits)
        later = submits[np.minimum(before, len(submits) - 1)]
        read = np.searchsorted(reads, begun) < np.searchsorted(reads, api["start"][later])
        inside = has_next & (before > 0)
        # The first wait of the window also counts the launches of the warm-up: only its directness can be judged.
        few = (between >= 1) & ((between <= most) | (np.arange(len(mine)) == 0))
        good = inside & few & ~read
        total += int(inside.sum())
        chosen.append(mine[good])
        following.append(later[good])
    if not chosen:
        return np.zeros(0, np.int64), np.zeros(0, np.int64), 0
    return np.concatenate(chosen), np.concatenate(following), total


def _idle_at(context: Context, times: Array) -> Array:
    """Mask: some device is idle at that time (every device of a trace that has one)."""
    result = np.ones(len(times), bool)
    for gaps in context.idle.values():
        at = np.searchsorted(gaps.starts, times, side="right") - 1
        result &= (at >= 0) & (times < gaps.ends[np.maximum(at, 0)]) if len(gaps.starts) else False
    return result
