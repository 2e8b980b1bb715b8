"""Rule 54: some runs of one kernel take far longer than the others."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from profiler.analysis.context import Context
from profiler.analysis.edits import SetTo
from profiler.analysis.groups import values_of
from profiler.analysis.judge import Name
from profiler.analysis.kernel_model import kinds
from profiler.analysis.rules.kernels import computing, said_of, split_by
from profiler.analysis.rules.operators import BY_VALUE, accompanied, described
from profiler.findings import Finding
from profiler.trace import Array

NAME = Name("kernel-outlier", 54, "operator")
LONGER = 1.5  # than the median of its kind
RUNS = 8  # of a kind, below which a percentile says nothing
SHARE = 0.01  # of the computing time


def kernel_outlier(context: Context) -> Iterator[Finding]:
    """Fires for kernels of the same operator, shapes and types (8 runs and more) whose 95th percentile is over 1.5 times the
    median, where the excess is 1 % of the computing time. Gain: the long ones take the median. Silent for what explains itself:
    a lower clock, another kernel, copy or collective beside it, the first run of a kind (its data is cold), and operators whose
    work depends on values (sorting, selection, routing)."""
    if "op_type" not in context.trace.task or "in_shapes" not in context.trace.task:
        return
    rows, duration, medians = _late(context)
    excess = int((duration - medians).sum())
    if excess <= 0 or excess < SHARE * computing(context):
        return
    yield _finding(context, rows, duration, medians, excess)


def _late(context: Context) -> tuple[Array, Array, Array]:
    """(the kernels that take too long, how long, and what their kind usually takes)."""
    found = context.views.roofline
    rows, duration = found.row, context.basis.durations(found.row)
    alone = ~accompanied(context, rows, "kernel", "aicpu", "copy", "comm")
    at_speed = duration * found.mhz / max(1, context.chip.cube_mhz)  # what it would take at the rated clock
    late, usual = [np.zeros(0, np.int64)], [np.zeros(0)]
    names, place = kinds(context, rows)
    for mine in split_by(place):
        if len(mine) < RUNS or names[place[mine[0]]].op.startswith(BY_VALUE) or not names[place[mine[0]]].in_shapes:
            continue
        judged = mine[1:][np.take(alone, mine[1:])]  # rows are in order of time: the first run comes first
        if len(judged) < RUNS - 1:
            continue
        spent = np.take(at_speed, judged)
        median = float(np.median(spent))
        if np.percentile(spent, 95) > LONGER * median:
            long = judged[spent > LONGER * median]
            late.append(long)
            usual.append(np.full(len(long), np.median(duration[judged])))
    chosen, medians = np.concatenate(late), np.concatenate(usual)
    order = np.argsort(chosen, kind="stable")
    chosen = chosen[order]
    return rows[chosen], duration[chosen], medians[order]


def _finding(context: Context, rows: Array, duration: Array, medians: Array, excess: int) -> Finding:
    worst = int(np.argmax(duration - medians))
    at = values_of(context.steps.of(context.launches.time[rows])) if context.steps.judged else np.zeros(0, np.int64)
    facts = described(context, rows) | {
        "excess_ns": excess,
        "longest_ns": int(duration[worst]),
        "median_ns": int(medians[worst]),
        "steps": ", ".join(str(s) for s in at[:6].tolist() if s >= 0) + (" ..." if len(at) > 6 else "") or "-",
    }
    return said_of(context, NAME, facts, rows, (SetTo(rows, medians.astype(np.int64)),), "medium")
