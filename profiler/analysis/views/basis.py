"""What every view is made from: one trace and what was joined of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from npu.soc import Soc
from profiler.analysis.breakdown import in_collective
from profiler.analysis.launches import Launches
from profiler.analysis.steps import Steps
from profiler.trace import Array, Trace


@dataclass(frozen=True)
class Basis:
    """window: the judged time range, ns; count: how many steps it holds (1 without steps)."""

    trace: Trace
    launches: Launches
    steps: Steps
    window: tuple[int, int]
    count: int
    chip: Soc

    @property
    def length(self) -> int:
        """Length of the judged window, at least 1 ns."""
        return max(1, self.window[1] - self.window[0])

    def kernels(self, *kinds: str) -> Array:
        """Task rows of kernels (kernel and aicpu, unless kinds are named) outside collectives, launched inside the window,
        in order of their start."""
        trace = self.trace
        if not trace.task:
            return np.zeros(0, np.int64)
        time = self.launches.time
        mask = trace.tasks_of(*(kinds or ("kernel", "aicpu"))) & ~in_collective(trace)
        rows = np.flatnonzero(mask & (time >= self.window[0]) & (time < self.window[1]))
        return rows[np.argsort(trace.task["start"][rows], kind="stable")]

    def durations(self, rows: Array) -> Array:
        """Lengths of task rows, ns."""
        lengths: Array = (self.trace.task["end"][rows] - self.trace.task["start"][rows]).astype(np.int64)
        return lengths
