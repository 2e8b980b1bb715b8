"""Which step a moment of a torch_npu profile belongs to: those that markers tell."""

from __future__ import annotations

import numpy as np

from npu import events
from profiler.trace import Array, Trace


def steps(trace: Trace) -> list[tuple[str, int, int]]:
    """(number as text, begin, end) of each step in order of its begin, ns; [] where the trace tells none."""
    if not trace.marker:
        return []
    rows = np.flatnonzero(trace.marker["kind"] == events.MARKERS.index("step"))
    rows = rows[np.argsort(trace.marker["start"][rows], kind="stable")]
    names, begins, ends = (trace.marker[n][rows].tolist() for n in ("name", "start", "end"))
    numbers = ["".join(c for c in trace.strings[name] if c.isdigit()) for name in names]
    return list(zip(numbers, begins, ends, strict=True))


class Numbered:
    """The step ids of rows by their start."""

    def __init__(self, trace: Trace) -> None:
        self._steps = steps(trace)
        self._begins = np.array([begin for _, begin, _ in self._steps], np.int64)

    def at(self, times: Array) -> Array:
        """For each time (ns) the place of its step in steps(), -1 outside of all."""
        if not self._steps:
            return np.full(len(times), -1, np.int64)
        found = np.searchsorted(self._begins, times, side="right") - 1
        ends = np.array([end for _, _, end in self._steps], np.int64)
        return np.where((found >= 0) & (times < ends[found]), found, -1)

    def __call__(self, start: Array) -> list[str]:
        """For each start (ns) the number of the step it lies in, "" outside of all."""
        return [self._steps[n][0] if n >= 0 else "" for n in self.at(start).tolist()]
