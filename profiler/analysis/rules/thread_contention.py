"""Rule 31: host threads slow each other down in the calls of the stack."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from npu import events
from profiler import intervals
from profiler.analysis.calls import blocking
from profiler.analysis.context import Context
from profiler.analysis.edits import CallTime, OwnTime
from profiler.analysis.groups import largest
from profiler.analysis.judge import REPEAT_MIN, Name, judged
from profiler.analysis.rules.host import main_thread
from profiler.findings import Finding
from profiler.trace import Array

NAME = Name("thread-contention", 31, "host")
SLOWER = 3  # times the median of calls of that name during which no other thread is in a call (catalogue)
SAMPLES = 5  # calls of a name on each side; fewer tell no median
LAG = 10  # times the median time between enqueue and dequeue (catalogue)
EVIDENCE_MOST = 3


class Slow(NamedTuple):
    """Calls that were slow beside another thread's, what each takes alone (ns), their names, and the worst ratio of medians."""

    rows: Array
    alone: Array
    names: tuple[str, ...]
    ratio: float


def thread_contention(context: Context) -> Iterator[Finding]:
    """Fires when calls that do not wait for the device take 3 times as long while another thread is inside one. Gain: these take
    what they take alone. Weaker, where work goes through a queue: it is fetched over 10 times later than usual."""
    threads = context.trace.api.counts("thread") if context.trace.api else {}
    if len(threads) < 2:
        return
    slow = _slow(context)
    if slow is None:
        yield from _late_fetches(context)
        return
    length = (context.trace.api["end"] - context.trace.api["start"])[slow.rows]
    facts = {
        "threads": len(threads),
        "count": len(slow.rows),
        "calls": ", ".join(slow.names),
        "ratio": slow.ratio,
        "alone_ns": int(np.median(slow.alone)),
        "beside_ns": int(np.median(length)),
        "excess_ns": int((length - slow.alone).sum()),
    }
    yield judged(
        context,
        NAME,
        facts,
        (CallTime(slow.rows, slow.alone),),
        confidence="medium",
        evidence=context.calls_shown(slow.rows[largest(length, EVIDENCE_MOST)]),
        sites=context.sites(slow.rows),
    )


def _slow(context: Context) -> Slow | None:
    """Calls of names that are slower beside another thread's call."""
    api = context.trace.api
    rows = context.outer
    rows = rows[
        ~blocking(context.trace)[rows] & (api["end"][rows] > context.window[0]) & (api["start"][rows] < context.window[1])
    ]
    start, end, thread = (api[n][rows].astype(np.int64) for n in ("start", "end", "thread"))
    beside = np.zeros(len(rows), bool)
    for number in np.unique(thread):
        mine, others = thread == number, thread != number
        beside[mine] = intervals.inside(intervals.union(start[others], end[others]), start[mine], end[mine]) > 0
    length = end - start
    found, alone, names, worst = [], [], [], 0.0
    for name in np.unique(api["name"][rows]).tolist():
        same = api["name"][rows] == name
        if (same & beside).sum() < SAMPLES or (same & ~beside).sum() < SAMPLES:
            continue
        usual = float(np.median(length[same & ~beside]))
        ratio = float(np.median(length[same & beside])) / max(1.0, usual)
        if ratio < SLOWER:
            continue
        chosen = rows[same & beside & (length > usual)]
        found.append(chosen)
        alone.append(np.full(len(chosen), int(usual)))
        names.append(context.trace.strings[name])
        worst = max(worst, ratio)
    return Slow(np.concatenate(found), np.concatenate(alone), tuple(names), worst) if found else None


def _late_fetches(context: Context) -> Iterator[Finding]:
    """Items of a queue that are fetched far later than usual: the fetching thread did not get to run."""
    table = context.trace.marker
    if not table or "correlation" not in table:
        return
    puts, gets = (np.flatnonzero(table["kind"] == events.MARKERS.index(kind)) for kind in ("enqueue", "dequeue"))
    gets = gets[(table["start"][gets] >= context.window[0]) & (table["start"][gets] < context.window[1])]
    if not len(puts) or len(gets) < SAMPLES:
        return
    order = puts[np.argsort(table["correlation"][puts], kind="stable")]
    at = np.minimum(np.searchsorted(table["correlation"][order], table["correlation"][gets]), len(order) - 1)
    paired = (table["correlation"][gets] >= 0) & (table["correlation"][order[at]] == table["correlation"][gets])
    gets, put = gets[paired], order[at[paired]]
    lag = np.maximum(table["start"][gets] - table["end"][put], 0)
    usual = float(np.median(lag)) if len(lag) else 0.0
    late = lag > LAG * max(usual, 1.0)
    if late.sum() < REPEAT_MIN:
        return
    # What the fetching thread did meanwhile was nothing: its own time before the first call after each late fetch shrinks.
    own = context.own_times
    taker = int(table["thread"][gets[0]])
    thread = taker if (context.trace.api["thread"][own.row] == taker).any() else main_thread(context)
    spans = intervals.union(table["end"][put[late]], table["start"][gets[late]])
    own = own.only(context.trace.api["thread"][own.row] == thread)
    excess = intervals.inside(spans, own.start, own.end)
    facts = {
        "count": int(late.sum()),
        "usual_ns": int(usual),
        "late_ns": int(np.median(lag[late])),
        "excess_ns": int((lag[late] - usual).sum()),
    }
    yield judged(
        context,
        NAME._replace(id="late-dequeue"),
        facts,
        (OwnTime(own.row[excess > 0], (own.ns - excess)[excess > 0]),),
        confidence="low",
        at_most=True,
    )
