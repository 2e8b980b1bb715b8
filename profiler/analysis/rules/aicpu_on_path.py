"""Rule 45: operators run on the AI CPU while the cores wait for them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from profiler.analysis.context import Context
from profiler.analysis.edits import SetTo
from profiler.analysis.judge import NOTE, WARNING, Name, at_most
from profiler.analysis.kernel_model import modelled_ns, narrowed, plain
from profiler.analysis.rules.kernels import critical_ns, said_of
from profiler.analysis.rules.operators import described, texts
from profiler.analysis.statistics import op_sums
from profiler.findings import Finding
from profiler.trace import Array

NAME = Name("aicpu-on-path", 45, "operator")
OTHER = NAME._replace(id="aicpu-operator")
# Types that many operators have no core kernel for; for these the AI CPU is a fallback.
FALLBACK_TYPES = frozenset(("INT64", "UINT64", "DOUBLE", "BOOL", "COMPLEX64", "COMPLEX128", "INT16", "UINT32"))
# The device side of collectives and of waiting for input also counts as AI CPU work in profiles; neither is an operator.
NO_OPERATOR = ("hcom", "hccl", "kfc", "rpc", "allreduce", "allgather", "reducescatter", "alltoall", "getnext")
SMALLEST_NS = 1050  # of a vector kernel; taken where shapes do not tell
SHOWN = 3
AI_CPU = "AI_CPU"


def aicpu_on_path(context: Context) -> Iterator[Finding]:
    """Fires when AI CPU kernels hold the critical path for 0.5 % of the window, apart for those with a 64-bit, bool or complex
    operand (the type is the reason) and for others (the operator has no kernel for the cores). Gain: each as a vector kernel over
    the same elements, 64-bit types as 32-bit ones; at most, where shapes are missing. Silent for the AI CPU's part in collectives
    and in waiting for input. With op_statistic only: all AI CPU time, when it is 3 % of all kernels' time."""
    if not context.trace.task:
        yield from _from_sums(context)
        return
    rows = context.basis.kernels("aicpu")
    foreign = [_foreign(op) for op in texts(context, rows, "op_type")]
    rows = rows[~np.array(foreign, bool)]
    if not len(rows):
        return
    by_type = np.array([_fallback(d) for d in texts(context, rows, "in_dtypes")], bool)
    for name, mine in ((NAME, rows[by_type]), (OTHER, rows[~by_type])):
        if len(mine) and critical_ns(context, mine) >= NOTE * context.length:
            yield _finding(context, name, mine)


def _finding(context: Context, name: Name, rows: Array) -> Finding:
    made = modelled_ns(context, rows, narrowed)
    known = ~np.isnan(made)
    duration = context.basis.durations(rows)
    shorter = np.minimum(np.where(known, made, SMALLEST_NS), duration).astype(np.int64)
    facts = described(context, rows) | {
        "ops": _with_types(context, rows),
        "critical_ns": critical_ns(context, rows),
        "on_cores_ns": int(shorter.sum()),
    }
    return said_of(context, name, facts, rows, (SetTo(rows, shorter),), "medium", "model", at_most=not known.all())


def _foreign(op: str) -> bool:
    return any(word in op.lower() for word in NO_OPERATOR)


def _fallback(dtypes: str) -> bool:
    return any(plain(d) in FALLBACK_TYPES for d in dtypes.split(";"))


def _with_types(context: Context, rows: Array) -> str:
    """Operators with the types of their inputs by time: "Greater (INT64), Cast (INT64)"."""
    spent: dict[str, int] = {}
    duration = context.basis.durations(rows).tolist()
    for op, dtypes, ns in zip(texts(context, rows, "op_type"), texts(context, rows, "in_dtypes"), duration, strict=True):
        types = ", ".join(dict.fromkeys(plain(d) for d in dtypes.split(";") if d))
        label = f"{op or '-'} ({types})" if types else op or "-"
        spent[label] = spent.get(label, 0) + ns
    return ", ".join(sorted(spent, key=lambda label: -spent[label])[:SHOWN])


def _from_sums(context: Context) -> Iterator[Finding]:
    sums = op_sums(context.trace)
    mine = [s for s in sums if s.core == AI_CPU and not _foreign(s.op_type)]
    total, whole = sum(s.total_ns for s in mine), sum(s.total_ns for s in sums)
    if mine and total >= WARNING * whole:
        facts = {
            "count": sum(s.count for s in mine),
            "per_step": "-",
            "total_ns": total,
            "critical_ns": "-",
            "computing_share": total / whole,
            "ops": ", ".join(s.op_type for s in mine[:SHOWN]),
            "on_cores_ns": 0,
        }
        yield at_most(context, OTHER, facts, total)
