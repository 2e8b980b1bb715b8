"""Rule 5: the first steps compile or load; they are start-up and no measure of a step."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from npu.units import S
from profiler import intervals
from profiler.analysis.context import Context
from profiler.analysis.host_classes import of_class
from profiler.analysis.judge import Name
from profiler.analysis.rules.online_compile import compiled, outermost
from profiler.findings import Evidence, Finding

NAME = Name("first-step-compile", 5, "graph")
SHARE = 0.3  # of the step
TIMES = 5  # the later steps
LEAST = S  # a shorter warm-up is not worth a word


def first_step_compile(context: Context) -> Iterator[Finding]:
    """Fires when calls that compile or load fill over 30 % of a warm-up step of a second or more. The step is left out of all
    averages. No gain: the time is paid once. A warm-up step TIMES as long as later ones is said without such calls, too."""
    steps, api = context.steps, context.trace.api
    if not api or not 0 < steps.first < len(steps.starts):
        return
    compiles, loads = of_class(context.trace, "compile"), of_class(context.trace, "load")
    for step in range(steps.first):
        begin, end = int(steps.starts[step]), int(steps.ends[step])
        rows = np.flatnonzero((compiles | loads) & (api["start"] >= begin) & (api["start"] < end))
        rows = outermost(context, rows[np.lexsort((-api["end"][rows], api["start"][rows], api["thread"][rows]))])
        spent = intervals.length(intervals.union(api["start"][rows], np.minimum(api["end"][rows], end)))
        if end - begin < LEAST or spent < SHARE * (end - begin):
            continue
        names, counts = np.unique(api["name"][rows], return_counts=True)
        later = (steps.ends - steps.starts)[steps.first :]
        facts = {
            "step": int(steps.ids[step]),
            "step_ns": end - begin,
            "spent_ns": spent,
            "spent_share": spent / (end - begin),
            "count": len(rows),
            "call": context.trace.strings[int(names[np.argmax(counts)])],
            "ops": compiled(context, rows) or "-",
            "later_ns": int(np.median(later)) if len(later) else 0,
        }
        evidence = (Evidence(str(facts["step"]), begin, end),)
        yield Finding(NAME.id, NAME.number, NAME.layer, "note", facts, None, evidence, context.sites(rows))
        return
    yield from _slow(context)


def _slow(context: Context) -> Iterator[Finding]:
    """The longest step of the warm-up, when it is TIMES as long as later ones and no recorded call says why."""
    steps, api = context.steps, context.trace.api
    length = steps.ends - steps.starts
    later = int(np.median(length[steps.first :]))
    slow = int(np.argmax(length[: steps.first]))
    begin, end = int(steps.starts[slow]), int(steps.ends[slow])
    if end - begin < max(LEAST, TIMES * later):
        return
    rows = np.flatnonzero((api["start"] >= begin) & (api["start"] < end))
    spent = api["end"][rows] - api["start"][rows]
    names, place = np.unique(api["name"][rows], return_inverse=True)
    most = int(np.argmax(np.bincount(place, spent))) if len(rows) else -1
    facts = {
        "step": int(steps.ids[slow]),
        "step_ns": end - begin,
        "later_ns": later,
        "call": context.trace.strings[int(names[most])] if most >= 0 else "-",
        "count": int((place == most).sum()),
        "call_ns": int(spent[place == most].sum()),
    }
    evidence = (Evidence(str(facts["step"]), begin, end),)
    yield Finding("first-step-slow", NAME.number, NAME.layer, "note", facts, None, evidence)
