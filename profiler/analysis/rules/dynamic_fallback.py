"""Rule 7: a model runs operator by operator though its shapes never change."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from profiler.analysis.context import Context
from profiler.analysis.judge import REPEAT_MIN, Name, judged
from profiler.analysis.rules.executions import Executions, executions, input_shape
from profiler.analysis.rules.launches import one_launch
from profiler.findings import Finding
from profiler.trace import Array

NAME = Name("dynamic-fallback", 7, "graph")
EVIDENCE_MOST = 3


def dynamic_fallback(context: Context) -> Iterator[Finding]:
    """Fires for executions whose operators are launched one by one (or that say dynamic) with the same shapes every time, three
    or more of them. Gain: each execution in one launch, kernels 0.6 us apart. Silent when shapes vary: then rule 8 speaks
    where a few fixed ones would do."""
    found = executions(context)
    chosen = np.flatnonzero(found.piecewise)
    if len(chosen) < REPEAT_MIN or len(np.unique(found.shape[chosen])) > 1:
        return
    yield fallback(context, NAME, found, chosen, {"shape": input_shape(context, found.kernels[chosen[0]])})


def fallback(context: Context, name: Name, found: Executions, chosen: Array, more: dict[str, object]) -> Finding:
    """The finding on executions that would each be one launch with fixed shapes."""
    api = context.trace.api
    rows = found.row[chosen]
    facts = {
        "count": len(rows),
        "call": context.trace.strings[int(api["name"][rows[0]])],
        "launches": int(np.median(found.own[chosen])),
        "dynamic": int(found.dynamic[chosen].sum()),
        **more,
    }
    groups = [_one_per_call(context, found.kernels[i]) for i in chosen.tolist()]
    return judged(
        context,
        name,
        facts,
        one_launch(context, groups),
        confidence="medium",
        evidence=context.calls_shown(rows[:EVIDENCE_MOST]),
        sites=context.sites(rows),
        at_most=True,
    )


def _one_per_call(context: Context, kernels: Array) -> Array:
    """The first kernel of each call, in order of the calls."""
    calls, first = np.unique(context.launches.row[kernels], return_index=True)
    order = np.argsort(context.trace.api["start"][calls], kind="stable")
    chosen: Array = kernels[first[order]]
    return chosen
