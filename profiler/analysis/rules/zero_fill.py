"""Rule 16: kernels that only write zeros."""

from __future__ import annotations

from collections.abc import Iterator

from profiler.analysis.context import Context
from profiler.analysis.judge import REPEAT_MIN, Name
from profiler.analysis.rules.kernels import computing, kernels, most_frequent, named, next_on_stream, of_type, removal, said_of
from profiler.findings import Finding

NAME = Name("zero-fill", 16, "graph")
SHARE = 0.02  # of the computing time
FILLERS = ("MemSet", "MemSetV2", "ZerosLike", "Fill", "AtomicAddrClean", "DynamicAtomicAddrClean", "Zeros")


def zero_fill(context: Context) -> Iterator[Finding]:
    """Fires when MemSet, ZerosLike and their like take 2 % of the computing time. Gain: at most all of them."""
    if "op_type" not in context.trace.task:
        return
    rows = kernels(context)
    mine = of_type(context, rows, named(*FILLERS))
    chosen = rows[mine]
    total = int(context.basis.durations(chosen).sum())
    if len(chosen) < REPEAT_MIN or total < SHARE * computing(context):
        return
    after = next_on_stream(context, rows)[mine]
    facts = {
        "count": len(chosen),
        "per_step": round(len(chosen) / context.count, 1),
        "total_ns": total,
        "computing_share": total / computing(context),
        "ops": most_frequent(context, chosen, "op_type"),
        "before": most_frequent(context, rows[after[after >= 0]], "op_type") or "-",
    }
    yield said_of(context, NAME, facts, chosen, (removal(context, chosen),), "medium", at_most=True)
