"""Rule 4: operators are compiled while the steps run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from profiler import intervals
from profiler.analysis.breakdown import in_collective
from profiler.analysis.context import Context
from profiler.analysis.edits import Skip
from profiler.analysis.groups import largest
from profiler.analysis.host_classes import class_of, of_class
from profiler.analysis.judge import NOTE, REPEAT_MIN, WARNING, Name, at_most, judged
from profiler.analysis.rules.kernels import most_frequent
from profiler.analysis.statistics import call_sums
from profiler.findings import Finding
from profiler.trace import Array

NAME = Name("online-compile", 4, "graph")
EVIDENCE_MOST = 3


def online_compile(context: Context) -> Iterator[Finding]:
    """Fires when calls that compile (aclopCompile*, opCompile, *jit*) lie in the judged steps. Gain: the same run without their
    time, what they launched stays. Said even where that is nothing yet, when half a percent of the window passes in them
    without any kernel. Silent when all of them are warm-up. With sums of calls only, their total is the bound."""
    rows = outermost(context, context.calls_in_window(of_class(context.trace, "compile")))
    if len(rows):
        yield _finding(context, rows)
    elif not context.trace.api:
        sums = call_sums(context.trace)
        mine = [s for s in sums if class_of(s.name) == "compile"]
        total = sum(s.total_ns for s in mine)
        if mine and sum(s.count for s in mine) >= REPEAT_MIN and total >= WARNING * sum(s.total_ns for s in sums):
            facts = {
                "case": "sums",
                "count": sum(s.count for s in mine),
                "call": mine[0].name,
                "total_ns": total,
                "uncovered_ns": total,
                "ops": "-",
            }
            yield at_most(context, NAME, facts, total)


def _finding(context: Context, rows: Array) -> Finding:
    api = context.trace.api
    length = api["end"][rows] - api["start"][rows]
    names, counts = np.unique(api["name"][rows], return_counts=True)
    uncovered = _uncovered(context, rows)
    facts = {
        "count": len(rows),
        "call": context.trace.strings[int(names[np.argmax(counts)])],
        "total_ns": int(length.sum()),
        "uncovered_ns": uncovered,
        "ops": compiled(context, rows) or "-",
    }
    found = judged(
        context,
        NAME,
        facts,
        (Skip(rows),),
        confidence="high",
        evidence=context.calls_shown(rows[largest(length, EVIDENCE_MOST)]),
        sites=context.sites(rows),
    )
    # Behind other waiting the compiles gain nothing yet; once that is cured they will.
    return replace(found, regardless=uncovered >= NOTE * context.length)


def _uncovered(context: Context, rows: Array) -> int:
    """Time of the calls during which no device of the trace computes, ns: no cure gains more."""
    api, task = context.trace.api, context.trace.task
    calls = intervals.union(api["start"][rows], api["end"][rows])
    kernels = np.flatnonzero(context.trace.tasks_of("kernel", "aicpu") & ~in_collective(context.trace))
    if not len(kernels):
        return intervals.length(calls)
    return intervals.length(intervals.subtract(calls, intervals.union(task["start"][kernels], task["end"][kernels])))


def outermost(context: Context, rows: Array) -> Array:
    """Of calls by thread and start those that lie in no other one of them."""
    if not len(rows):
        return rows
    api = context.trace.api
    base = api["thread"][rows].astype(np.int64) * (int(api["end"].max()) + 1)
    reach = np.maximum.accumulate(base + api["end"][rows])
    first = np.ones(len(rows), bool)
    first[1:] = base[1:] + api["end"][rows][1:] > reach[:-1]
    return rows[first]


def compiled(context: Context, rows: Array) -> str:
    """Operator types the calls compile: as the calls say, else of the kernels launched inside them."""
    trace = context.trace
    named = trace.api.get("op_type")
    if named is not None and (named[rows] >= 0).any():
        found, counts = np.unique(named[rows][named[rows] >= 0], return_counts=True)
        return ", ".join(trace.strings[int(i)] for i in found[np.argsort(-counts, kind="stable")][:3])
    launching = np.flatnonzero(context.launches.kernels > 0)
    order = np.lexsort((trace.api["start"][rows], trace.api["thread"][rows]))
    rows = rows[order]
    scale = int(trace.api["end"].max()) + 1
    keys = trace.api["thread"][rows].astype(np.int64) * scale + trace.api["start"][rows]
    wanted = trace.api["thread"][launching].astype(np.int64) * scale + trace.api["start"][launching]
    at = np.searchsorted(keys, wanted, side="right") - 1
    holder = rows[np.maximum(at, 0)]
    inside = (at >= 0) & (trace.api["thread"][holder] == trace.api["thread"][launching])
    inside &= trace.api["start"][launching] < trace.api["end"][holder]
    return most_frequent(context, context.launches.first[launching[inside]], "op_type")
