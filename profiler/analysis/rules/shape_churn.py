"""Rule 9: new shapes keep coming, and each one costs compiling, loading or memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from profiler.analysis.calls import column
from profiler.analysis.context import Context
from profiler.analysis.edits import Skip
from profiler.analysis.groups import combined, largest
from profiler.analysis.host_classes import of_class
from profiler.analysis.judge import Name, judged
from profiler.analysis.rules.online_compile import outermost
from profiler.findings import Finding
from profiler.trace import Array

NAME = Name("shape-churn", 9, "graph")
EVERY = 5  # steps: at least one new set of shapes in so many (catalogue)
EVIDENCE_MOST = 3


def shape_churn(context: Context) -> Iterator[Finding]:
    """Fires when at least one steady step in five brings kernels with shapes no step before it had, and such steps compile,
    load or allocate. Gain: the run without those calls. Silent without such calls."""
    steps = context.steps
    if not steps.steady or "in_shapes" not in context.trace.task or not context.trace.api:
        return
    fresh = _new_shapes(context)
    if fresh.sum() * EVERY < steps.steady:
        return
    api = context.trace.api
    rows = outermost(context, context.calls_in_window(of_class(context.trace, "compile", "load", "alloc")))
    inside = steps.of(api["start"][rows])
    rows = rows[(inside >= 0) & fresh[np.maximum(inside, 0)]]
    if not len(rows):
        return
    length = api["end"][rows] - api["start"][rows]
    names, counts = np.unique(api["name"][rows], return_counts=True)
    facts = {
        "steps": int(fresh.sum()),
        "of": steps.steady,
        "calls": len(rows),
        "call": context.trace.strings[int(names[np.argmax(counts)])],
        "total_ns": int(length.sum()),
    }
    yield judged(
        context,
        NAME,
        facts,
        (Skip(rows),),
        confidence="medium",
        evidence=context.calls_shown(rows[largest(length, EVIDENCE_MOST)]),
        sites=context.sites(rows),
    )


def _new_shapes(context: Context) -> Array:
    """Mask over steps: a steady step with a kernel (operator and shapes) that no step before it had."""
    trace, steps = context.trace, context.steps
    rows = np.flatnonzero(trace.tasks_of("kernel", "aicpu"))
    step = steps.of(context.launches.time[rows])
    rows, step = rows[step >= 0], step[step >= 0]
    fresh = np.zeros(len(steps.starts), bool)
    if len(rows):
        kind = combined(column(trace, "task", "op_type")[rows], column(trace, "task", "in_shapes")[rows])
        first = np.full(int(kind.max()) + 1, len(steps.starts), np.int64)
        np.minimum.at(first, kind, step)
        fresh[first[first < len(fresh)]] = True
    fresh[: max(1, steps.first)] = False  # nothing was known before the first step
    return fresh
