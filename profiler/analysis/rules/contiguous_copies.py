"""Rule 15: kernels that only move data between layouts of one tensor."""

from __future__ import annotations

from collections.abc import Iterator

from profiler.analysis.context import Context
from profiler.analysis.judge import Name
from profiler.analysis.rules.kernels import share_taken
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
    return share_taken(context, NAME, MOVERS, SHARE)
