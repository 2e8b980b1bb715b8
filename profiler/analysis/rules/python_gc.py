"""Rule 26: Python collects garbage while the device waits."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from profiler.analysis.context import Context
from profiler.analysis.edits import OwnTime
from profiler.analysis.judge import REPEAT_MIN, Name, judged
from profiler.analysis.own_time import OwnTimes
from profiler.analysis.rules.host import idle_of, in_markers, marked
from profiler.findings import Evidence, Finding
from profiler.trace import Array

NAME = Name("python-gc", 26, "host")
GC_NS = 1_000_000  # of collections during which the device is idle (catalogue)
PAUSE_NS = 50_000_000  # an idle time with user code only that looks like a collection (catalogue)
REGULAR = 0.2  # coefficient of variation of the times between such pauses
RARE = 0.5  # of the steps: a pause in every step is no collection
TWICE = 2  # once per run is no finding
EVIDENCE_MOST = 3


def python_gc(context: Context) -> Iterator[Finding]:
    """Fires when collections of 1 ms and more leave the device idle, more than once. Where no collection was recorded: pauses of
    over 50 ms with nothing but user code, at regular distances and not in every step (low confidence). Gain: without them."""
    spans = marked(context, "gc")
    inside = (spans.ends > context.window[0]) & (spans.starts < context.window[1])
    starts, ends = spans.starts[inside], spans.ends[inside]
    if len(starts):
        yield from _recorded(context, starts, ends)
    elif context.trace.api:
        yield from _guessed(context)


def _recorded(context: Context, starts: Array, ends: Array) -> Iterator[Finding]:
    idle = idle_of(context, starts, ends)
    if len(starts) < TWICE or int(idle.sum()) < GC_NS:
        return
    own = context.own_times
    spent = in_markers(context, own, "gc")
    own, spent = own.only(spent > 0), spent[spent > 0]
    worst = np.argsort(-idle, kind="stable")[:EVIDENCE_MOST]
    facts = {"count": len(starts), "total_ns": int((ends - starts).sum()), "idle_ns": int(idle.sum()), "guess": "-"}
    yield judged(
        context,
        NAME,
        facts,
        (OwnTime(own.row, own.ns - spent),),
        confidence="high",
        evidence=tuple(Evidence("gc", int(starts[i]), int(ends[i]), "marker") for i in worst),
        sites=context.sites(own.row),
    )


def _guessed(context: Context) -> Iterator[Finding]:
    own = _pauses(context)
    if len(own.row) < REPEAT_MIN or (context.steps.steady and len(own.row) > RARE * context.count):
        return
    apart = np.diff(own.start)
    if apart.std() > REGULAR * apart.mean():
        return
    usual = np.median(context.own_times.ns)
    facts = {
        "count": len(own.row),
        "total_ns": int(own.ns.sum()),
        "idle_ns": int(own.idle.sum()),
        "guess": f"{apart.mean() / 1e9:.2g} s",
    }
    yield judged(
        context,
        NAME._replace(id="gc-like-pauses"),
        facts,
        (OwnTime(own.row, np.full(len(own.row), int(usual))),),
        confidence="low",
        evidence=context.calls_shown(own.row[:EVIDENCE_MOST]),
        sites=context.sites(own.row),
        at_most=True,
    )


def _pauses(context: Context) -> OwnTimes:
    own = context.own_times
    return own.only(own.idle > PAUSE_NS)
