"""Rule 23: kernels are short and each waits for its launch: the host is too slow for the device."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from profiler import intervals
from profiler.analysis.context import Context
from profiler.analysis.edits import OwnTime
from profiler.analysis.groups import largest
from profiler.analysis.judge import EXPLAINS_IDLE, Name, at_most, bounded, judged, weight
from profiler.analysis.rules.in_sums import of_steps, steps_alone
from profiler.analysis.rules.launches import one_launch
from profiler.analysis.statistics import OUTLIER, call_sums
from profiler.analysis.views.gap_classes import HOST
from profiler.analysis.views.launch_bound import LAUNCH_FALLBACK
from profiler.findings import Evidence, Finding
from profiler.trace import Array

NAME = Name("launch-bound", 23, "host")
IDLE_SHARE = 0.10  # of the window inside launch-bound stretches, collection not counted (catalogue)
UNLINKED_SHARE = 0.20  # of the window idle, where nothing says why
KERNELS_MIN = 20  # as in a launch-bound stretch
CALL_SHARE = 0.25  # of the idle time; a call that takes it between the launches is named
LAUNCHES_MIN = 1000  # in sums; fewer may all be first ones
SLOW_LAUNCH = 20_000  # ns on average; usual are 2 to 8 us
FASTER = 0.5  # of the launching thread's own time; the replayed cure
EVIDENCE_MOST = 3


def launch_bound(context: Context) -> Iterator[Finding]:
    """Fires when the device is idle for IDLE_SHARE of the window inside stretches of 20 and more kernels that were each launched
    after the one before had ended.

    Gain: the launching threads' own time in these stretches halved, at most; beside it stands what one launch for each stretch
    would gain. A named cause that explains half of it (a wait, a compile, an allocation ...) carries the gain instead. Where
    there are no such stretches, but the device waits for the host from UNLINKED_SHARE of the window on, that is said with what
    the host mostly does meanwhile, at most; so is as long a wait for work that was launched already. Without host calls the idle
    time itself is said from UNLINKED_SHARE of the window on, with the sums of steps only their free time from IDLE_SHARE on; both
    at most. With the sums of calls only, a thousand launches of over SLOW_LAUNCH on average are said, what they take above the
    usual at most.
    """
    sums = steps_alone(context)
    if sums is not None:
        if sums.free >= IDLE_SHARE * sums.whole:
            yield of_steps(NAME._replace(id="device-idle-sums"), sums, sums.free, sums.free, {})
        return
    if context.trace.api:
        found = list(in_stretches(context))
        found = found or list(_late(context))
        yield from found
        yield from _queued(context, sum(map(weight, found)))
    else:
        yield from _slow_in_sums(context)
        yield from _unlinked(context)


def _slow_in_sums(context: Context) -> Iterator[Finding]:
    sums = [s for s in call_sums(context.trace) if s.level == "node" and s.name == "launch"]
    count, total = sum(s.count for s in sums), sum(s.total_ns for s in sums)
    if count < LAUNCHES_MIN or total < SLOW_LAUNCH * count:
        return
    whole = sum(s.total_ns for s in call_sums(context.trace) if s.level != "node") + total
    facts = {
        "count": count,
        "total_ns": total,
        "mean_ns": round(total / count),
        "usual_ns": LAUNCH_FALLBACK,
        "part_share": total / whole,
    }
    yield at_most(context, NAME._replace(id="slow-launches-sums"), facts, total - LAUNCH_FALLBACK * count)


def in_stretches(context: Context) -> Iterator[Finding]:
    """The full form of the rule: each kernel of a stretch is known with its launch."""
    bound = context.views.launch_bound
    collected = sum(gaps.total("collection") for gaps in context.views.gaps.values())
    idle = min(bound.idle, _idle(context))
    idle -= min(idle, collected)
    if idle <= IDLE_SHARE * context.length:
        return
    rows = context.basis.kernels()
    rows = rows[context.launches.row[rows] >= 0]
    groups = [_of_stretch(context, rows, int(a), int(b)) for a, b in zip(bound.first, bound.last, strict=True)]
    calls = np.unique(context.launches.row[np.concatenate(groups)])
    kernels = int(bound.count.sum())
    between, between_ns = _between(context, calls)
    facts = {
        **({"case": "call"} if between_ns >= CALL_SHARE * idle else {}),
        "between": between,
        "between_ns": between_ns,
        "kernels": kernels,
        "stretches": len(bound.count),
        "idle_ns": idle,
        "idle_share": idle / context.length,
        "gap_ns": round(idle / max(1, kernels - len(bound.count))),
        "kernel_ns": round(int(bound.busy.sum()) / kernels),
        "delay_ns": max(0, bound.delay),
        "launch_ns": bound.launch,
        "starved_share": max((q.starved_share for q in context.views.queues), default=0.0),
        "single_ns": max(0, context.gain(one_launch(context, [g for g in groups if _one_thread(context, g)]))),
    }
    yield judged(
        context,
        NAME,
        facts,
        (_halved(context, calls),),
        confidence="medium",
        evidence=context.tasks_shown(groups[int(np.argmax(bound.span - bound.busy))][:EVIDENCE_MOST]),
        sites=context.sites(calls),
        method="model",
        at_most=True,
    )


def _idle(context: Context) -> int:
    """Time in the stretches in which no kernel, collective or copy of the device runs, ns."""
    bound, task = context.views.launch_bound, context.trace.task
    found = 0
    for device, gaps in context.idle.items() if len(bound.device) else ():
        mine = bound.device == device
        starts, ends = task["start"][bound.first[mine]], task["end"][bound.last[mine]]
        found += int(intervals.inside((gaps.starts, gaps.ends), starts, ends).sum())
    return found


def _between(context: Context, calls: Array) -> tuple[str, int]:
    """The call that takes most of the launching threads' time between these launches, and its time, ns."""
    api, outer = context.trace.api, context.outer
    begun = api["start"][outer]
    inside = np.isin(api["thread"][outer], api["thread"][calls]) & (context.launches.kernels[outer] == 0)
    rows = outer[inside & (begun >= api["start"][calls].min()) & (begun < api["start"][calls].max())]
    if not len(rows):
        return "-", 0
    names, place = np.unique(api["name"][rows], return_inverse=True)
    spent = np.bincount(place, (api["end"] - api["start"])[rows])
    return context.trace.strings[int(names[np.argmax(spent)])], int(spent.max())


def _late(context: Context) -> Iterator[Finding]:
    """The device waits for the host between longer pieces of work. What happens once (a checkpoint, say) is no habit: idle time
    in steps of over three times the median, without such steps the longest gap, is left out."""
    gaps = max(context.views.gaps.values(), key=lambda g: g.host, default=None)
    if gaps is None or not (context.launches.row >= 0).any():
        return
    odd = _once(context, gaps.ends - gaps.starts, gaps.starts)
    if gaps.host - odd < UNLINKED_SHARE * (context.length - odd):
        return
    spent = {name: ns for name, ns in gaps.by_class().items() if name in HOST}
    top = max(spent, key=lambda name: spent[name])
    facts = {
        "idle_ns": gaps.host - odd,
        "idle_share": (gaps.host - odd) / context.length,
        "gaps": len(gaps.starts),
        "longest_ns": int((gaps.ends - gaps.starts).max()),
        "reason": top,
        "reason_ns": min(spent[top], gaps.host - odd),
    }
    longest = largest(gaps.ends - gaps.starts, EVIDENCE_MOST)
    shown = tuple(Evidence("idle", int(gaps.starts[i]), int(gaps.ends[i])) for i in longest.tolist())
    yield replace(bounded(context, NAME._replace(id="device-idle-host"), facts, gaps.host - odd), evidence=shown)


def _queued(context: Context, said: int) -> Iterator[Finding]:
    """The device waits though its next piece of work was launched, and nothing recorded says why; only where what was said of
    the host is worth less than EXPLAINS_IDLE of it, ns."""
    gaps = max(context.views.gaps.values(), key=lambda g: g.total("unexplained"), default=None)
    if gaps is None:
        return
    odd = _once(context, gaps.ends - gaps.starts, gaps.starts)
    idle = gaps.total("unexplained") - odd
    if idle < UNLINKED_SHARE * (context.length - odd) or said >= EXPLAINS_IDLE * idle:
        return
    call, call_ns = _launching(context)
    facts = {
        "idle_ns": idle,
        "idle_share": idle / context.length,
        "gaps": len(gaps.starts),
        "longest_ns": int((gaps.ends - gaps.starts).max()),
        "call": call,
        "call_ns": call_ns,
    }
    longest = largest(gaps.ends - gaps.starts, EVIDENCE_MOST)
    shown = tuple(Evidence("idle", int(gaps.starts[i]), int(gaps.ends[i])) for i in longest.tolist())
    yield replace(bounded(context, NAME._replace(id="device-idle-queued"), facts, idle), evidence=shown)


def _launching(context: Context) -> tuple[str, int]:
    """Of the calls that have an id to launch by, those of the name that takes most time: the name, and their mean, ns."""
    api = context.trace.api
    rows = np.flatnonzero(api.filled("correlation") >= 0)
    if not len(rows):
        return "-", 0
    names, place = np.unique(api["name"][rows], return_inverse=True)
    spent = np.bincount(place, (api["end"] - api["start"])[rows])
    top = int(np.argmax(spent))
    return context.trace.strings[int(names[top])], round(float(spent[top]) / np.count_nonzero(place == top))


def _once(context: Context, length: Array, starts: Array) -> int:
    """Idle time that is no habit, ns."""
    steps = context.steps
    if steps.kind != "marker" or not len(length):
        return int(length.max(initial=0))
    whole = steps.ends - steps.starts
    inside = steps.of(starts)
    odd = (inside >= 0) & (whole > OUTLIER * np.median(whole))[np.maximum(inside, 0)]
    return int(length[odd].sum())


def _unlinked(context: Context) -> Iterator[Finding]:
    rows = context.basis.kernels()
    if len(rows) < KERNELS_MIN or context.trace.comm:
        return
    idle, gaps = min(((int((g.ends - g.starts).sum()), len(g.starts)) for g in context.idle.values()), default=(0, 0))
    if idle < UNLINKED_SHARE * context.length:
        return
    length = context.basis.durations(rows)
    facts = {
        "kernels": len(rows),
        "idle_ns": idle,
        "idle_share": idle / context.length,
        "gap_ns": round(idle / max(1, gaps)),
        "kernel_ns": round(float(length.mean())),
    }
    yield bounded(context, NAME._replace(id="device-idle"), facts, idle)


def _of_stretch(context: Context, rows: Array, first: int, last: int) -> Array:
    """The kernels of one stretch by launch."""
    start = context.trace.task["start"]
    inside = rows[(start[rows] >= start[first]) & (start[rows] <= start[last])]
    inside = inside[context.trace.task["device"][inside] == context.trace.task["device"][first]]
    ordered: Array = inside[np.argsort(context.launches.time[inside], kind="stable")]
    return ordered


def _one_thread(context: Context, rows: Array) -> bool:
    return len(np.unique(context.trace.api["thread"][context.launches.row[rows]])) == 1


def _halved(context: Context, calls: Array) -> OwnTime:
    """Own time of the launching threads between the first and the last of these launches."""
    own, api = context.own_times, context.trace.api
    mine = np.isin(api["thread"][own.row], api["thread"][calls])
    mine &= (own.start >= api["start"][calls].min()) & (own.end <= api["start"][calls].max())
    return OwnTime(own.row[mine], (own.ns[mine] * FASTER).astype(np.int64))
