"""Rule 29: steps begin and end with host work during which the device does nothing."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from profiler import intervals
from profiler.analysis.context import Context
from profiler.analysis.edits import Aside, Edit, Overlap
from profiler.analysis.judge import Name, judged
from profiler.analysis.rules.copies import async_call_ns
from profiler.analysis.rules.host import H2D, copies_of
from profiler.analysis.rules.in_sums import of_steps, steps_alone
from profiler.findings import Evidence, Finding, Gain
from profiler.intervals import Spans
from profiler.trace import Array

NAME = Name("step-start-stall", 29, "host")
SHARE = 0.05  # of the wall time of the steps (catalogue)
EVIDENCE_MOST = 3


def step_start_stall(context: Context) -> Iterator[Finding]:
    """Fires when marked steps spend SHARE of their time before the first and after the last kernel or collective.

    Gain: the threads' own time there is spent beside the step before, and copies to the device there go ahead of their step. Of
    a single step only a note and a bound: what could run beside it is not in the capture. With the sums of steps only, their
    column Preparing, at most.
    """
    sums = steps_alone(context)
    if sums is not None:
        if sums.preparing >= SHARE * (sums.whole + sums.preparing):
            yield of_steps(NAME._replace(id="step-start-stall-sums"), sums, sums.preparing, sums.preparing, {})
        return
    records = [b for b in context.breakdown if b.preparing is not None and b.tail is not None]
    if context.steps.kind != "marker" or not records:
        return
    preparing, tail = (
        sum(int(v) for v in values if v is not None) for values in zip(*((b.preparing, b.tail) for b in records), strict=True)
    )
    wall = preparing + tail + sum(b.stage for b in records)
    if preparing + tail < SHARE * wall:
        return
    spans = edges(context)
    calls, own_ns = _doing(context, spans)
    facts = {
        "steps": len({b.step for b in records}),
        "preparing_ns": preparing,
        "tail_ns": tail,
        "edge_share": (preparing + tail) / wall,
        "own_ns": own_ns,
        "call": calls[0] if calls else "-",
        "call_ns": calls[1] if calls else 0,
    }
    shown = np.argsort(spans.starts - spans.ends, kind="stable")[:EVIDENCE_MOST]
    evidence = tuple(Evidence("", int(spans.starts[i]), int(spans.ends[i])) for i in shown)
    if len({b.step for b in records}) < 2:
        gain = Gain(preparing + tail, "bound", "low", at_most=True)
        yield Finding(NAME.id, NAME.number, NAME.layer, "note", facts, gain, evidence)
        return
    yield judged(context, NAME, facts, _edits(context, spans), confidence="medium", evidence=evidence, at_most=True)


def edges(context: Context) -> Spans:
    """The judged time before the first and after the last kernel or collective of each step, of all devices together."""
    steps, found = context.steps, []
    by_step: dict[int, list[tuple[int, int]]] = {}
    for b in context.breakdown:
        if b.preparing is not None and b.tail is not None:
            by_step.setdefault(b.step, []).append((b.preparing, b.tail))
    for number, values in by_step.items():
        at = int(np.flatnonzero(steps.ids == number)[0])
        start, end = int(steps.starts[at]), int(steps.ends[at])
        found += [(start, start + min(p for p, _ in values)), (end - min(t for _, t in values), end)]
    pairs = np.array(found, np.int64).reshape(-1, 2)
    return intervals.union(pairs[:, 0], pairs[:, 1])


def _edits(context: Context, spans: Spans) -> tuple[Edit, ...]:
    if not context.trace.api:
        return ()
    own = context.own_times
    moved = intervals.inside(spans, own.start, own.end)
    own, moved = own.only(moved > 0), moved[moved > 0]
    step = context.steps.of(context.trace.api["start"][own.row])
    edits: tuple[Edit, ...] = (Aside(own.row, moved, step),)
    rows = _calls_in(context, spans)
    copies = rows[copies_of(context, rows, H2D) & (context.launches.first[rows] >= 0)]
    return (*edits, Overlap(copies, async_call_ns())) if len(copies) else edits


def _calls_in(context: Context, spans: Spans) -> Array:
    """Outer calls that lie in these spans for the most part."""
    api, rows = context.trace.api, context.outer
    if not len(rows):
        return rows
    inside = intervals.inside(spans, api["start"][rows], api["end"][rows])
    return rows[2 * inside > (api["end"] - api["start"])[rows]]


def _doing(context: Context, spans: Spans) -> tuple[tuple[str, int] | None, int]:
    """The call with the most time in these spans and that time, and the own time of threads there, ns."""
    own = int(intervals.inside(spans, context.own_times.start, context.own_times.end).sum())
    api, rows = context.trace.api, context.outer
    if not len(rows):
        return None, own
    inside = intervals.inside(spans, api["start"][rows], api["end"][rows])
    names, place = np.unique(api["name"][rows], return_inverse=True)
    sums = np.bincount(place, inside)
    best = int(np.argmax(sums))
    return ((context.trace.strings[int(names[best])], int(sums[best])) if sums[best] else None), own
