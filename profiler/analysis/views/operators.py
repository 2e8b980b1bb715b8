"""Operators of the window (view V11), by type, shapes, dtypes and formats, and sequences of kernels that come again and again.

A sequence is found by doubling ranks (a suffix array without the sort of suffixes): kernels get the number of their
operator; two positions agree over n kernels when their ranks of length n are equal. Occurrences do not overlap.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from profiler.analysis.calls import column
from profiler.analysis.groups import changes, combined
from profiler.analysis.views.basis import KIND, Basis
from profiler.analysis.views.roofline import Roofline
from profiler.trace import Array, Trace

SEQUENCE_LENGTHS = range(10, 2, -1)  # kernels of a frequent sequence, the longest first (spec of the analyzer, view V11)
SEQUENCES_MOST = 20


@dataclass(frozen=True, slots=True)
class Operator:
    """One kind of kernel. share: of the summed kernel time. cv: standard deviation over mean. efficiency: median of view V9
    (None: unknown). row: its longest kernel."""

    op_type: str
    in_shapes: str
    in_dtypes: str
    in_formats: str
    task_type: str
    count: int
    total_ns: int
    share: float
    critical_ns: int
    min_ns: int
    median_ns: int
    p95_ns: int
    cv: float
    efficiency: float | None
    row: int


@dataclass(frozen=True, slots=True)
class Sequence:
    """Operators that follow each other on a stream `count` times; starts: task row of the first kernel of each occurrence."""

    ops: tuple[str, ...]
    count: int
    total_ns: int
    starts: Array


def operators(basis: Basis, found: Roofline, critical: Array) -> tuple[Operator, ...]:
    """All kinds by total time, the longest first. critical: mask over task rows on the critical path."""
    trace = basis.trace
    rows = basis.kernels()
    if not len(rows):
        return ()
    duration = basis.durations(rows)
    number = combined(*(column(trace, "task", n)[rows] for n in KIND), trace.task["kind"][rows])
    order = np.lexsort((duration, number))
    heads = np.flatnonzero(changes(number[order]))
    efficiency = np.full(len(trace.task), np.nan)
    known = found.floor_ns > 0
    efficiency[found.row[known]] = found.efficiency[known]
    whole = max(1, int(duration.sum()))
    made = []
    for group in np.split(order, heads[1:]):
        mine, times = rows[group], duration[group]
        first = mine[-1]
        reached = efficiency[mine][~np.isnan(efficiency[mine])]
        total = int(times.sum())
        made.append(
            Operator(
                *_texts(trace, int(first)),
                len(mine),
                total,
                total / whole,
                int(times[critical[mine]].sum()),
                int(times[0]),
                int(np.median(times)),
                int(np.percentile(times, 95)),
                float(times.std() / max(1.0, times.mean())),
                float(np.median(reached)) if len(reached) else None,
                int(first),
            )
        )
    return tuple(sorted(made, key=lambda o: (-o.total_ns, o.op_type)))


def _texts(trace: Trace, row: int) -> tuple[str, str, str, str, str]:
    op, shape, dtype, layout, kind = (trace.strings[int(column(trace, "task", n)[row])] for n in (*KIND[:4], "task_type"))
    return op, shape, dtype, layout, kind


def sequences(basis: Basis, least: int = 3) -> tuple[Sequence, ...]:
    """Sequences of 3 to 10 kernels that occur `least` times or more, by total time; a kernel belongs to the longest only."""
    rows = basis.streams
    task = basis.trace.task
    if len(rows) < 3 or "op_type" not in task:
        return ()
    names = task["op_type"][rows].astype(np.int64)
    lane = basis.lanes[rows]
    duration = basis.durations(rows)
    free = np.ones(len(rows), bool)
    made: list[Sequence] = []
    for length in SEQUENCE_LENGTHS:
        if length > len(rows):
            continue
        rank, valid = _ranks(names, lane, length)
        starts = np.flatnonzero(valid)
        if not len(starts):
            continue
        order = starts[np.argsort(rank[starts], kind="stable")]
        for group in np.split(order, np.flatnonzero(np.diff(rank[order])) + 1):
            if len(group) < least:
                continue
            kept = _apart(group, free, length)
            if len(kept) < least:
                continue
            for step in range(length):
                free[kept + step] = False
            ops = tuple(basis.trace.strings[int(n)] for n in names[kept[0] : kept[0] + length])
            total = int(sum(int(duration[kept + step].sum()) for step in range(length)))
            made.append(Sequence(ops, len(kept), total, rows[kept]))
    made.sort(key=lambda s: (-s.total_ns, s.ops))
    return tuple(made[:SEQUENCES_MOST])


def _ranks(names: Array, lane: Array, length: int) -> tuple[Array, Array]:
    """(a number per position, equal where the next `length` names are; mask: all of them lie on one stream)."""
    count = len(names)
    rank, reach = names, 1
    while reach < length:
        shift = min(reach, length - reach)
        later = np.full(count, -1, np.int64)
        later[: count - shift] = rank[shift:]
        rank = combined(rank, later)
        reach += shift
    valid = np.zeros(count, bool)
    valid[: max(0, count - length + 1)] = lane[: max(0, count - length + 1)] == lane[length - 1 :]
    return rank, valid


def _apart(starts: Array, free: Array, length: int) -> Array:
    """Occurrences that neither overlap each other nor touch a kernel that is taken, from the left. What is taken is at least
    `length` kernels long, so it cannot lie inside an occurrence whose two ends are free."""
    starts = np.sort(starts[free[starts] & free[starts + length - 1]])
    if not len(starts) or (np.diff(starts) >= length).all():
        return starts
    kept, end = [], -1
    for start in starts.tolist():
        if start >= end:
            kept.append(start)
            end = start + length
    return np.array(kept, np.int64)
