"""Kernels that follow each other on a stream."""

from __future__ import annotations

import numpy as np

from profiler.analysis.breakdown import Work
from profiler.trace import Array, Trace


def pairs(trace: Trace, device: int, direct: bool = True) -> tuple[Array, Array]:
    """(task rows before, task rows after) of a device; direct: with no other task between them."""
    if not trace.task:
        nothing = np.zeros(0, np.int64)
        return nothing, nothing
    task = trace.task
    kernels = Work(trace, device).computing
    rows = np.flatnonzero(task["device"] == device if direct else kernels)
    rows = rows[np.lexsort((task["start"][rows], task["stream"][rows]))]
    before, after = rows[:-1], rows[1:]
    both = kernels[before] & kernels[after] & (task["stream"][before] == task["stream"][after])
    return before[both], after[both]
