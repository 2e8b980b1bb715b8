"""What a step launched operator by operator becomes as one graph: one launch, kernels close behind each other, and what the graph
engine's passes leave of them where weights are inputs of the graph (torch.compile).

1. All launches of a group become the first one (edit OneLaunch).
2. Changes of format between convolutions fall away: a stretch of kernels that work in blocks keeps the first and the last change,
   and that of each filter, which comes anew with every run.
3. Chains of the pass patterns (npu.patterns) become one kernel each: heads on the cube keep their time, others last as long as
   the longest of the chain. Passes that need constant weights are left out.
4. Elementwise kernels of one shape behind each other become one, up to MOST; an addition joins the normalisation behind it.
Which kernel reads what is not recorded, so neighbours are taken to depend on each other: the figure is a bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from npu.patterns import CONV, MATMUL, MEAN, PATTERNS
from profiler.analysis.calls import column
from profiler.analysis.context import Context
from profiler.analysis.edits import Edit, Remove, SetTo
from profiler.analysis.rules.launches import one_launch
from profiler.analysis.rules.unfused_pattern import occurrences
from profiler.trace import Array

FORMAT = "TransData"
NEED_WEIGHTS = ("ConvBatchnormFusionPass", "AABiasaddConvFusion", "MatMulBiasAddFusionPass")
# npu.graph.passes.vector_chain: its kernels take so many operators
MOST = 8
ELEMENTWISE = ("Add", "Adds", "Sub", "Mul", "Muls", "RealDiv", "Div", "Maximum", "Minimum", "Abs", "Neg", "Reciprocal", "Sqrt",
               "Rsqrt", "Exp", "Log", "Relu", "LeakyRelu", "Sigmoid", "Tanh", "Elu", "HardSigmoid", "HardSwish", "SoftplusV2",
               "Gelu", "Mish", "Swish", "Pow", "Pows", "ClipByValueV2", "Square")  # fmt: skip
POOLS = ("MaxPool", "AvgPoolV2", "GlobalAveragePool", "BNInfer", *MEAN)
BLOCKS = {FORMAT, *CONV, *ELEMENTWISE, *POOLS}  # kernels that work in the format of convolutions
SQUARES = ("Pows", "Pow", "Square")
NORMS = ("LayerNorm", "LayerNormV3", "LayerNormV4", "RmsNorm")


class Compiled(NamedTuple):
    """edits: of the replay; left: kernels that remain."""

    edits: tuple[Edit, ...]
    left: int


class Merged(NamedTuple):
    """Kernels that become one, as positions: heads ascending, tails with their head, and how long each head lasts then."""

    heads: Array
    tails: Array
    ns: Array


def compiled(context: Context, groups: Sequence[Array]) -> Compiled:
    """groups: kernel rows of one launch each, by thread and step."""
    ordered = [g[np.argsort(context.trace.task["start"][g], kind="stable")] for g in groups]
    rows = np.concatenate(ordered)
    group = np.repeat(np.arange(len(ordered)), [len(g) for g in ordered])
    launch = one_launch(context, list(groups))
    if "op_type" not in context.trace.task:
        return Compiled(launch, len(rows))
    gone = _formats(context, rows, group)
    kept = ~context.basis.of_type(rows, FORMAT.__eq__)
    merged = _chains(context, rows[kept], group[kept])
    inner = rows[kept]
    edits: tuple[Edit, ...] = (*launch, SetTo(inner[merged.heads], merged.ns), Remove(inner[merged.tails]), Remove(rows[gone]))
    return Compiled(edits, len(rows) - len(gone) - len(merged.tails))


def _formats(context: Context, rows: Array, group: Array) -> Array:
    """Positions of changes of format that fall away."""
    changes = context.basis.of_type(rows, FORMAT.__eq__)
    if not changes.any():
        return np.zeros(0, np.int64)
    inside = context.basis.of_type(rows, BLOCKS.__contains__)
    convolution = context.basis.of_type(rows, CONV.__contains__)
    stretch = np.cumsum(np.concatenate(([True], (~inside[1:]) | (~inside[:-1]) | (group[1:] != group[:-1]))))
    at = np.flatnonzero(changes & inside)
    number = stretch[at]
    first = np.concatenate(([True], number[1:] != number[:-1]))
    last = np.concatenate((number[1:] != number[:-1], [True]))
    filters = np.isin(at + 1, np.flatnonzero(convolution))
    gone: Array = at[~(first | last | filters)]
    return gone


def _chains(context: Context, rows: Array, group: Array) -> Merged:
    """What passes make of kernels in their order. A kernel belongs to one chain."""
    lanes = context.basis.lanes[rows]
    same = (group[1:] == group[:-1]) & (lanes[1:] == lanes[:-1])
    free = np.ones(len(rows), bool)
    head_of = np.full(len(rows), -1, np.int64)
    for pattern in PATTERNS:
        if pattern.name in NEED_WEIGHTS or len(rows) < 2:
            continue
        heads, tails = occurrences(context, rows, same, free, pattern)
        free[heads] = free[tails] = False
        if len(heads):
            head_of[tails] = heads[np.searchsorted(heads, tails) - 1]
    _neighbours(context, rows, same, free, head_of)
    tails = np.flatnonzero(head_of >= 0)
    heads = np.unique(head_of[tails])
    length = context.basis.durations(rows)
    ns = length[heads].copy()
    cube = context.basis.of_type(rows[heads], (*CONV, *MATMUL).__contains__)
    place = np.searchsorted(heads, head_of[tails])
    longest = ns.copy()
    np.maximum.at(longest, place, length[tails])
    ns[~cube] = longest[~cube]
    return Merged(heads, tails, ns)


def _neighbours(context: Context, rows: Array, same: Array, free: Array, head_of: Array) -> None:
    """Elementwise kernels of one shape join the one before; an addition takes the normalisation behind it along."""
    shape = column(context.trace, "task", "out_shapes")[rows]
    simple = context.basis.of_type(rows, ELEMENTWISE.__contains__) & free & (shape >= 0)
    norm = context.basis.of_type(rows, NORMS.__contains__) & free
    added = context.basis.of_type(rows, "Add".__eq__) & free
    if len(rows) < 2:
        return
    joined = np.concatenate(([False], same & simple[1:] & simple[:-1] & (shape[1:] == shape[:-1])))
    at = np.flatnonzero(joined)
    begin = np.maximum.accumulate(np.where(joined, 0, np.arange(len(rows))))[at]
    chunk = begin + (at - begin) // MOST * MOST
    head_of[at[chunk != at]] = chunk[chunk != at]
    heads = np.zeros(len(rows), bool)
    heads[head_of[head_of >= 0]] = True
    squares = heads & context.basis.of_type(rows, SQUARES.__contains__)  # of normalisations that were found written out
    before = np.flatnonzero(same & added[:-1] & (head_of[:-1] < 0) & ~heads[:-1] & (norm[1:] | squares[1:]))
    head_of[before] = before + 1  # the addition falls away, the normalisation stays
