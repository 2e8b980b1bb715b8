"""Rule 15: kernels that only move data between layouts of one tensor."""

from __future__ import annotations

from collections.abc import Iterator

from profiler.analysis.context import Context
from profiler.analysis.judge import REPEAT_MIN, Name
from profiler.analysis.rules.kernels import computing, kernels, most_frequent, named, next_on_stream, of_type, removal, said_of
from profiler.findings import Finding

NAME = Name("contiguous-copies", 15, "graph")
SHARE = 0.05  # of the computing time
MOVERS = (
    "AsStrided", "ViewCopy", "TensorMove", "Identity", "Slice", "SliceD", "StridedSlice", "StridedSliceD", "Concat", "ConcatD",
    "ConcatV2", "Pack", "Split", "SplitV", "SplitD", "Contiguous", "BroadcastTo", "Tile",
)  # fmt: skip


def contiguous_copies(context: Context) -> Iterator[Finding]:
    """Fires when AsStrided, ViewCopy, TensorMove, Slice, Concat and their like take 5 % of the computing time. Gain: at most
    all of them. Which views caused them stands in the evidence's call sites."""
    if "op_type" not in context.trace.task:
        return
    rows = kernels(context)
    mine = of_type(context, rows, named(*MOVERS))
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
        "shapes": most_frequent(context, chosen, "in_shapes", 2) or "-",
        "before": most_frequent(context, rows[after[after >= 0]], "op_type") or "-",
    }
    yield said_of(context, NAME, facts, chosen, (removal(context, chosen),), "medium", at_most=True)
