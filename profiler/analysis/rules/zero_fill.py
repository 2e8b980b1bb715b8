"""Rule 16: kernels that only write zeros."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from profiler.analysis.context import Context
from profiler.analysis.judge import REPEAT_MIN, Name
from profiler.analysis.rules.kernels import (
    kernels,
    most_frequent,
    named,
    next_on_stream,
    of_type,
    removal,
    said_of,
    share_taken,
    taken,
)
from profiler.findings import Finding

NAME = Name("zero-fill", 16, "graph")
SHARE = 0.02  # of the computing time
FILLERS = ("MemSet", "MemSetV2", "ZerosLike", "Fill", "AtomicAddrClean", "DynamicAtomicAddrClean", "Zeros")
# Operators whose kernels add into their output from several cores, so that it has to be zero before.
ATOMIC = (
    "ScatterAdd",
    "ScatterNdAdd",
    "InplaceIndexAdd",
    "IndexPut",
    "EmbeddingDenseGrad",
    "UnsortedSegmentSum",
    "SegmentSum",
    "Conv2DBackpropFilter",
    "Conv3DBackpropFilter",
    "BNTrainingReduce",
    "BNTrainingUpdateGrad",
    "LayerNormBetaGammaBackprop",
    "ReduceSum",
    "ROIAlignGrad",
)


def zero_fill(context: Context) -> Iterator[Finding]:
    """Fires when MemSet, ZerosLike and their like take 2 % of the computing time, or, with less, when one of them stands right
    before each kernel of an operator that adds up with atomics. Gain: at most all of them."""
    found = list(share_taken(context, NAME, FILLERS, SHARE))
    yield from found or _before_atomics(context)


def _before_atomics(context: Context) -> Iterator[Finding]:
    if "op_type" not in context.trace.task:
        return
    rows = kernels(context)
    after = next_on_stream(context, rows)
    fills = np.flatnonzero(of_type(context, rows, named(*FILLERS)) & (after >= 0))
    takers = after[fills]
    atomic = of_type(context, rows, lambda text: text.startswith(ATOMIC))
    kind = context.trace.task["op_type"][rows]
    filled, every = np.bincount(kind[takers[atomic[takers]]]), np.bincount(kind[atomic])
    always = np.flatnonzero(filled >= np.maximum(REPEAT_MIN, every[: len(filled)]))
    chosen = atomic[takers] & np.isin(kind[takers], always)
    mine = rows[fills[chosen]]
    if not len(mine):
        return
    facts = {
        "case": "atomic",
        **taken(context, mine),
        "before": most_frequent(context, rows[takers[chosen]], "op_type"),
    }
    yield said_of(context, NAME, facts, mine, (removal(context, mine),), "medium", at_most=True)
