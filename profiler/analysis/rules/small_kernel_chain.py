"""Rule 11: chains of tiny kernels come again and again."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from profiler.analysis.calls import column
from profiler.analysis.context import Context
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
    if not runs:
        return
    spans = sum(int(context.trace.task["end"][rows[e - 1]] - context.trace.task["start"][rows[b]]) for b, e in runs)
    if spans <= SHARE * context.length:
        return
    yield _finding(context, rows, runs, spans)


def _launched_alone(context: Context, rows: Array) -> Array:
    """Mask: kernels with a launch of their own; inside one launch of a model the graph engine has fused what it could."""
    call = context.launches.row[rows]
    alone: Array = column(context.trace, "task", "model")[rows] < 0
    known = call >= 0
    alone[known] = context.launches.kernels[call[known]] == 1
    return alone


def _repeated(context: Context, rows: Array, begins: Array, ends: Array) -> list[tuple[int, int]]:
    """Runs whose sequence of operators occurs REPEATS times or more."""
    ops = column(context.trace, "task", "op_type")[rows]
    found: dict[bytes, list[tuple[int, int]]] = {}
    for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
        found.setdefault(ops[begin:end].tobytes(), []).append((begin, end))
    return sorted(run for same in found.values() if len(same) >= REPEATS for run in same)


def _finding(context: Context, rows: Array, runs: list[tuple[int, int]], spans: int) -> Finding:
    duration = context.basis.durations(rows)
    longest = np.array([int(duration[b:e].max()) for b, e in runs])
    heads = rows[[b for b, _ in runs]]
    tails = np.concatenate([rows[b + 1 : e] for b, e in runs])
    ops = column(context.trace, "task", "op_type")[rows]
    counts: dict[bytes, int] = {}
    for b, e in runs:
        counts[ops[b:e].tobytes()] = counts.get(ops[b:e].tobytes(), 0) + 1
    begin, end = next((b, e) for b, e in runs if counts[ops[b:e].tobytes()] == max(counts.values()))
    shown = [context.trace.strings[int(o)] for o in ops[begin : min(end, begin + SHOWN)]]
    facts = {
        "runs": len(runs),
        "kernels": len(heads) + len(tails),
        "per_step": round((len(heads) + len(tails)) / context.count, 1),
        "span_ns": spans,
        "span_share": spans / context.length,
        "chain": " + ".join(shown) + (" ..." if end - begin > SHOWN else ""),
        "length": end - begin,
    }
    edits = (SetTo(heads, longest), removal(context, tails))
    return said_of(context, NAME, facts, np.concatenate((heads, tails)), edits, "medium", "model", at_most=True)
