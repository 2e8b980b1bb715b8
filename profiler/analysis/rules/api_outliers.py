"""Rule 32: single calls take many times as long as others of their name, for no reason the trace names."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from profiler import intervals
from profiler.analysis.calls import blocking
from profiler.analysis.context import Context
from profiler.analysis.edits import CallTime
from profiler.analysis.groups import largest
from profiler.analysis.host_classes import CALLS, classes, of_class
from profiler.analysis.judge import WARNING, Name, judged
from profiler.analysis.rules.host import marked
from profiler.findings import Finding
from profiler.trace import Array

NAME = Name("api-outliers", 32, "host")
TIMES = 10  # the median of the name (catalogue)
LONGER_THAN = 100_000  # ns (catalogue)
SAMPLES = 10  # calls of a name; fewer tell no median
NAMED = ("compile", "load", "sync", "alloc", "copy", "communicator")  # classes of calls with reasons and rules of their own
EVIDENCE_MOST = 3


def api_outliers(context: Context) -> Iterator[Finding]:
    """Fires when calls over 10 times the median of their name and over 100 us make 3 % of the host time on the critical path.
    Waits, copies, allocations, loads and compiles have rules of their own, also where they lie inside a call. Gain: these
    calls take the median."""
    if not context.trace.api:
        return
    rows, usual = outliers(context)
    if not len(rows):
        return
    graph = context.graph
    on_path = context.path[graph.chains.call_end[rows]]
    api = context.trace.api
    length = (api["end"] - api["start"])[rows]
    host = np.flatnonzero(
        context.path & ~graph.chains.is_task & (graph.time >= context.window[0]) & (graph.time < context.window[1])
    )
    critical = int(graph.link[host].sum())
    if int((length - usual)[on_path].sum()) < WARNING * max(1, critical):
        return
    names, counts = np.unique(api["name"][rows], return_counts=True)
    facts = {
        "count": len(rows),
        "call": context.trace.strings[int(names[np.argmax(counts)])],
        "longest_ns": int(length.max()),
        "median_ns": int(np.median(usual)),
        "excess_ns": int((length - usual).sum()),
    }
    yield judged(
        context,
        NAME,
        facts,
        (CallTime(rows, usual),),
        confidence="medium",
        evidence=context.calls_shown(rows[largest(length, EVIDENCE_MOST)]),
        sites=context.sites(rows),
    )


def _explained(context: Context, rows: Array) -> Array:
    """Mask: half of the call or more is spent in a call inside it that has a reason of its own (a compile within an operator's
    call, say), or in garbage collection."""
    trace = context.trace
    api = trace.api
    reason = of_class(trace, *NAMED) | blocking(trace)
    reason[rows] = False
    inner = np.flatnonzero(reason)
    spent = np.zeros(len(rows), np.int64)
    for thread in np.unique(api["thread"][rows]).tolist():
        mine = api["thread"][rows] == thread
        within = inner[api["thread"][inner] == thread]
        reasons = intervals.union(
            np.concatenate((api["start"][within], marked(context, "gc").starts)),
            np.concatenate((api["end"][within], marked(context, "gc").ends)),
        )
        spent[mine] = intervals.inside(reasons, api["start"][rows[mine]], api["end"][rows[mine]])
    found: Array = 2 * spent >= np.maximum(1, api["end"][rows] - api["start"][rows])
    return found


def outliers(context: Context) -> tuple[Array, Array]:
    """Outer calls of the window that are outliers of their name, and the median of each one's name, ns."""
    api = context.trace.api
    rows = context.outer
    rows = rows[(api["start"][rows] >= context.window[0]) & (api["start"][rows] < context.window[1])]
    named = np.isin(classes(context.trace)[rows], [CALLS.index(n) for n in NAMED])
    rows = rows[~blocking(context.trace)[rows] & ~named]
    long = api["end"][rows] - api["start"][rows] > LONGER_THAN
    rows = rows[np.isin(api["name"][rows], np.unique(api["name"][rows[long]]))]  # only such names can have outliers
    rows = rows[~_explained(context, rows)]
    length = (api["end"] - api["start"])[rows]
    found, usual = [], []
    for name in np.unique(api["name"][rows]):
        mine = api["name"][rows] == name
        if mine.sum() < SAMPLES:
            continue
        median = int(np.median(length[mine]))
        odd = mine & (length > TIMES * median) & (length > LONGER_THAN)
        found.append(rows[odd])
        usual.append(np.full(int(odd.sum()), median))
    nothing = np.zeros(0, np.int64)
    return np.concatenate([nothing, *found]), np.concatenate([nothing, *usual])
