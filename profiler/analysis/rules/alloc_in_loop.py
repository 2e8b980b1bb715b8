"""Rule 43: memory is allocated and released while the steps run."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from npu.units import MIB
from profiler.analysis.context import Context
from profiler.analysis.edits import Skip
from profiler.analysis.graph import WAIT
from profiler.analysis.groups import changes, combined
from profiler.analysis.host_classes import class_of, of_class
from profiler.analysis.judge import REPEAT_MIN, Name, at_most
from profiler.analysis.rules.host import judged_calls, launch_times
from profiler.analysis.rules.in_sums import executions, often
from profiler.analysis.rules.waits import worth_naming
from profiler.analysis.statistics import call_sums
from profiler.findings import Finding
from profiler.trace import Array

NAME = Name("alloc-in-loop", 43, "copy")
TAIL = 2  # P99 over P50 of the steps (catalogue)
GROWTH = MIB  # bytes; pools grow by blocks of 2 MiB and more
EVERY = 0.5  # of the steps must allocate or release, else it is growth that ends
EVIDENCE_MOST = 3


def alloc_in_loop(context: Context) -> Iterator[Finding]:
    """Fires when calls that allocate or release memory come in at least every other step, or in the slow ones where P99 is over
    twice P50. Gain: the same run without them. Silent for growth during warm-up. With sums of calls only: their total, at most,
    when there are as many as model executions, or, without any, when they come often and
    take much of the host's time. Without calls at all: when the memory reserved from the driver grows and shrinks again in at
    least every other step, which tells no time."""
    if not context.called:
        yield from _from_sums(context)
        yield from _from_memory(context)
        return
    rows = context.calls_in_window(of_class(context.trace, "alloc"))
    rows = rows[np.isin(rows, context.outer)]
    if len(rows) < REPEAT_MIN or not _between_launches(context, rows):
        return
    length = (context.trace.api["end"] - context.trace.api["start"])[rows]
    step, spent = _steps(context, rows, length)
    tail = _percentiles(step)
    without = _percentiles(step - spent)
    slow = step > TAIL * tail[0]
    often = not len(step) or (spent > 0).sum() >= EVERY * len(step)
    if not often and not (tail[1] > TAIL * tail[0] and spent[slow].any()):
        return
    facts = {
        "count": len(rows),
        "per_step": round(len(rows) / context.count, 1),
        "calls": _names(context, rows, length),
        "total_ns": int(length.sum()),
        "longest_ns": int(length.max()),
        "waited_ns": _waited(context, rows),
        "p50_ns": tail[0],
        "p99_ns": tail[1],
        "p50_without_ns": without[0],
        "p99_without_ns": without[1],
    }
    yield judged_calls(context, NAME, facts, rows, Skip(rows))


def _waited(context: Context, rows: Array) -> int:
    """How much of these calls is waiting for the device: from their start to the end of the last task they waited for, ns."""
    graph, starts = context.graph, context.trace.api["start"]
    edges = np.flatnonzero((graph.kind == WAIT) & np.isin(graph.owner, rows))
    until = np.zeros(len(starts), np.int64)
    np.maximum.at(until, graph.owner[edges], graph.time[graph.source[edges]] - starts[graph.owner[edges]])
    return int(until.sum())


def _between_launches(context: Context, rows: Array) -> bool:
    """True when kernels are launched between them again and again: else they are the beginning or the end of the program."""
    return len(np.unique(np.searchsorted(launch_times(context), context.trace.api["start"][rows]))) >= REPEAT_MIN


def _steps(context: Context, rows: Array, length: Array) -> tuple[Array, Array]:
    """Per judged step its length and the time of these calls in it, ns."""
    steps = context.steps
    if not steps.judged:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    spent = np.zeros(len(steps.starts), np.int64)
    at = steps.of(context.trace.api["start"][rows])
    np.add.at(spent, at[at >= 0], length[at >= 0])
    return (steps.ends - steps.starts)[-steps.judged :].astype(np.int64), spent[-steps.judged :]


def _percentiles(values: Array) -> tuple[int, int]:
    """50th and 99th by nearest rank; 0 without values."""
    if not len(values):
        return 0, 0
    order = np.sort(values)
    half, high = (int(order[max(0, math.ceil(share * len(order)) - 1)]) for share in (0.5, 0.99))
    return half, high


def _names(context: Context, rows: Array, length: Array) -> str:
    names, place = np.unique(context.trace.api["name"][rows], return_inverse=True)
    order = np.argsort(-np.bincount(place, length), kind="stable")[:EVIDENCE_MOST]
    return ", ".join(context.trace.strings[int(names[i])] for i in order)


def _from_memory(context: Context) -> Iterator[Finding]:
    """The allocator's pool in memory records: what grows only is a matter of rule 71."""
    memory, steps = context.trace.memory, context.steps
    if not memory or "reserved" not in memory or steps.judged < REPEAT_MIN:
        return
    rows = np.flatnonzero(memory["reserved"] >= 0)
    pool = combined(*(memory.filled(n)[rows] for n in ("device", "component")))
    order = rows[np.lexsort((memory["time"][rows], pool))]
    change = np.diff(memory["reserved"][order].astype(np.int64), prepend=0)
    change[changes(np.sort(pool))] = 0
    at = steps.of(memory["time"][order])
    judged = at >= len(steps.starts) - steps.judged
    grown, shrunk = ((sign * change >= GROWTH) & judged for sign in (1, -1))
    found = [len(np.unique(at[mask])) for mask in (grown, shrunk)]
    if min(found) < max(REPEAT_MIN, EVERY * steps.judged):
        return
    facts = {
        "steps": found[0],
        "of": steps.judged,
        "count": int(grown.sum()),
        "grown_bytes": int(change[grown].sum()),
        "released_bytes": -int(change[shrunk].sum()),
        "most_bytes": int(memory["reserved"][order].max()),
    }
    yield Finding("alloc-in-loop-pool", NAME.number, NAME.layer, "warning", facts, None)


def _from_sums(context: Context) -> Iterator[Finding]:
    sums = call_sums(context.trace)
    mine = [s for s in sums if class_of(s.name) == "alloc"]
    count, total = sum(s.count for s in mine), sum(s.total_ns for s in mine)
    runs = executions(context)
    if not runs:
        yield from often(context, NAME._replace(id="alloc-often-sums"), mine)
        return
    if count >= max(REPEAT_MIN, runs) and worth_naming(context, total):
        facts = {
            "count": count,
            "per_step": round(count / runs, 1),
            "calls": ", ".join(s.name for s in mine[:EVIDENCE_MOST]),
            "total_ns": total,
            "longest_ns": 0,
            "p50_ns": 0,
            "p99_ns": 0,
            "p50_without_ns": 0,
            "p99_without_ns": 0,
        }
        yield at_most(context, NAME._replace(id="alloc-in-loop-sums"), facts, total)
