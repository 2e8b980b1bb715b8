"""Rule 16: kernels that only write zeros."""

from __future__ import annotations

from collections.abc import Iterator

from profiler.analysis.context import Context
from profiler.analysis.judge import Name
from profiler.analysis.rules.kernels import share_taken
from profiler.findings import Finding

NAME = Name("zero-fill", 16, "graph")
SHARE = 0.02  # of the computing time
FILLERS = ("MemSet", "MemSetV2", "ZerosLike", "Fill", "AtomicAddrClean", "DynamicAtomicAddrClean", "Zeros")


def zero_fill(context: Context) -> Iterator[Finding]:
    """Fires when MemSet, ZerosLike and their like take 2 % of the computing time. Gain: at most all of them."""
    return share_taken(context, NAME, FILLERS, SHARE)
