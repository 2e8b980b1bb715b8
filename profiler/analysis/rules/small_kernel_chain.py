"""Rule 11: chains of tiny kernels come again and again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from profiler.analysis.calls import column
from profiler.analysis.context import Context
from profiler.analysis.eager import eager
from profiler.analysis.edits import SetTo
from profiler.analysis.judge import Name
from profiler.analysis.rules.kernels import CUBE, LAYOUT, kernels, next_on_stream, of_type, removal, said_of
from profiler.findings import Finding
from profiler.trace import Array

NAME = Name("small-kernel-chain", 11, "graph")
SMALL = 10_000  # ns (spec of the analyzer, section 1)
LENGTH_MIN = 3
REPEATS = 5
SHARE = 0.01  # of the window
SHOWN = 6


def small_kernel_chain(context: Context) -> Iterator[Finding]:
    """Fires for runs of three and more vector kernels under 10 us on a stream whose sequence of operators comes five times or
    more, when such runs take over 1 % of the window. Gain: each run as one kernel that lasts as long as its longest. Products,
    convolutions and layout conversions end a run: they are not fused into such chains. So do kernels that a model launches
    together: of those rule 10 speaks."""
    if "op_type" not in context.trace.task:
        return
    rows = kernels(context)
    if len(rows) < LENGTH_MIN * REPEATS:
        return
    small = context.basis.durations(rows) < SMALL
    small &= _launched_alone(context, rows)
    small &= ~of_type(context, rows, lambda text: text.startswith(CUBE) or text in LAYOUT)
    joined = np.zeros(len(rows) + 1, bool)  # joined[i]: kernel i continues the run of kernel i - 1
    joined[1:-1] = small[1:] & small[:-1] & (next_on_stream(context, rows)[:-1] >= 0)
    begins = np.flatnonzero(small & ~joined[:-1])
    ends = np.flatnonzero(small & ~joined[1:]) + 1
    long = ends - begins >= LENGTH_MIN
    runs = _repeated(context, rows, begins[long], ends[long])
    if not len(runs.begin):
        return
    task = context.trace.task
    spans = int((task["end"][rows[runs.end - 1]] - task["start"][rows[runs.begin]]).sum())
    if spans <= SHARE * context.length:
        return
    yield _finding(context, rows, runs, spans)


class Runs(NamedTuple):
    """Positions of runs in the kernels of the window, in their order: [begin, end). same: how many runs have its sequence."""

    begin: Array
    end: Array
    same: Array


def _launched_alone(context: Context, rows: Array) -> Array:
    """Mask: kernels with a launch of their own; inside one launch of a model the graph engine has fused what it could."""
    call = np.take(context.launches.row, rows)
    known = call >= 0
    if known.all():
        single: Array = np.take(context.launches.kernels, call) == 1
        return single
    alone: Array = np.take(column(context.trace, "task", "model"), rows) < 0
    alone[known] = np.take(context.launches.kernels, call[known]) == 1
    return alone


def _repeated(context: Context, rows: Array, begins: Array, ends: Array) -> Runs:
    """Runs whose sequence of operators occurs REPEATS times or more. Runs of one length are compared as rows of one table."""
    ops = column(context.trace, "task", "op_type")[rows]
    length = ends - begins
    same = np.zeros(len(begins), np.int64)
    for each, count in zip(*np.unique(length, return_counts=True), strict=True):
        if count >= REPEATS:
            mine = np.flatnonzero(length == each)
            sequences = np.ascontiguousarray(ops[begins[mine][:, None] + np.arange(each)])
            _, kind, counts = np.unique(sequences.view(f"V{sequences.itemsize * each}"), return_inverse=True, return_counts=True)
            same[mine] = counts[kind.ravel()]
    kept = same >= REPEATS
    return Runs(begins[kept], ends[kept], same[kept])


def _finding(context: Context, rows: Array, runs: Runs, spans: int) -> Finding:
    duration = context.basis.durations(rows)
    # Runs lie apart, so every second stretch between their borders is what lies between two runs.
    borders = np.stack((runs.begin, runs.end), axis=1).ravel()
    longest = np.maximum.reduceat(np.append(duration, 0), borders)[::2]
    heads = rows[runs.begin]
    inside = np.zeros(len(rows) + 1, np.int8)
    inside[runs.begin + 1], inside[runs.end] = 1, -1
    tails = rows[np.cumsum(inside[:-1], dtype=np.int8) > 0]
    ops = column(context.trace, "task", "op_type")[rows]
    first = int(np.argmax(runs.same))
    begin, end = int(runs.begin[first]), int(runs.end[first])
    shown = [context.trace.strings[int(o)] for o in ops[begin : min(end, begin + SHOWN)]]
    facts = {
        "runs": len(heads),
        "kernels": len(heads) + len(tails),
        "per_step": round((len(heads) + len(tails)) / context.count, 1),
        "span_ns": spans,
        "span_share": spans / context.length,
        "chain": " + ".join(shown) + (" ..." if end - begin > SHOWN else ""),
        "length": end - begin,
        "case": "eager" if eager(context, heads) else "",
    }
    edits = (SetTo(heads, longest), removal(context, tails))
    return said_of(context, NAME, facts, np.concatenate((heads, tails)), edits, "medium", "model", at_most=True)
