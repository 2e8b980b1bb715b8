"""Kernels that follow each other on a stream."""

from __future__ import annotations

import numpy as np

from profiler.analysis.breakdown import Work
from profiler.analysis.groups import sort_by
from profiler.trace import Array, Trace


def pairs(trace: Trace, device: int, direct: bool = True) -> tuple[Array, Array]:
    """(task rows before, task rows after) of a device; direct: with no other task between them."""
    if not trace.task:
        nothing = np.zeros(0, np.int64)
        return nothing, nothing
    task = trace.task
    kernels = Work(trace, device).computing
    rows = np.flatnonzero(task["device"] == device if direct else kernels)
    stream = np.take(task["stream"], rows)
    order = sort_by(stream, np.take(task["start"], rows))
    rows, stream = rows[order], stream[order]
    kernel = np.take(kernels, rows)
    both = kernel[:-1] & kernel[1:] & (stream[:-1] == stream[1:])
    return (rows[:-1], rows[1:]) if both.all() else (rows[:-1][both], rows[1:][both])
