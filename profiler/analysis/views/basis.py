"""What every view is made from: one trace and what was joined of it. What is worked out here is worked out once and must not be
written to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from npu.soc import Soc
from profiler.analysis.breakdown import in_collective
from profiler.analysis.calls import column
from profiler.analysis.groups import combined, kinds, narrow, numbered, order_by, stretch
from profiler.analysis.launches import Launches
from profiler.analysis.steps import Steps
from profiler.trace import Array, Trace

KERNELS = ("kernel", "aicpu")
# What tells one kind of kernel from another.
KIND = ("op_type", "in_shapes", "in_dtypes", "in_formats", "out_shapes", "out_dtypes", "out_formats")


@dataclass(frozen=True)
class Basis:
    """window: the judged time range, ns; count: how many steps it holds (1 without steps)."""

    trace: Trace
    launches: Launches
    steps: Steps
    window: tuple[int, int]
    count: int
    chip: Soc
    _kernels: dict[tuple[str, ...], Array] = field(default_factory=dict)

    @property
    def length(self) -> int:
        """Length of the judged window, at least 1 ns."""
        return max(1, self.window[1] - self.window[0])

    def kernels(self, *names: str) -> Array:
        """Task rows of kernels (kernel and aicpu, unless kinds are named) outside collectives, launched inside the window,
        in order of their start."""
        wanted = names or KERNELS
        if wanted not in self._kernels:
            found = self._in_window(wanted)
            same = (rows for rows in self._kernels.values() if np.array_equal(rows, found))
            self._kernels[wanted] = next(same, found)
        return self._kernels[wanted]

    def _in_window(self, names: tuple[str, ...]) -> Array:
        trace = self.trace
        if not trace.task:
            return np.zeros(0, np.int64)
        time = self.launches.time
        mask = trace.tasks_of(*names) & ~in_collective(trace)
        rows = np.flatnonzero(mask & (time >= self.window[0]) & (time < self.window[1])).astype(np.int32)
        start = trace.task["start"][rows]
        return rows if (start[1:] >= start[:-1]).all() else rows[np.argsort(start, kind="stable")]

    @cached_property
    def streams(self) -> Array:
        """Kernel rows of the window by device, stream and start."""
        rows = self.kernels()
        lanes = np.take(self.lanes, rows)
        return rows[order_by(lanes)] if (lanes[1:] < lanes[:-1]).any() else rows

    @cached_property
    def lanes(self) -> Array:
        """Number of the (device, stream) of each task row, ascending."""
        task = self.trace.task
        if not task:
            return np.zeros(0, np.int32)
        number = combined(task["device"], task["stream"])
        return number.astype(np.int16 if int(number.max()) <= np.iinfo(np.int16).max else np.int32)

    @cached_property
    def kinds(self) -> tuple[list[tuple[str, ...]], Array]:
        """(the texts of KIND of each distinct kernel, number of its kind per task row); no kinds where shapes or types lack."""
        task = self.trace.task
        if any(name not in task for name in KIND):
            return [], np.zeros(0, np.int32)
        found, number = kinds(task, KIND)
        text = self.trace.strings
        return [tuple(text[i] for i in ids) for ids in found.tolist()], number

    @cached_property
    def types(self) -> tuple[list[str | None], Array]:
        """(the distinct operator types, None for unknown ones; number of its type per task row)."""
        ids = column(self.trace, "task", "op_type")
        number, count = numbered(ids)
        number = number.astype(np.int16 if count <= np.iinfo(np.int16).max else np.int32)
        first = np.zeros(int(number.max(initial=-1)) + 1, np.int64)
        first[number] = ids
        return [self.trace.strings[i] if i >= 0 else None for i in first.tolist()], number

    def of_type(self, rows: Array, test: Callable[[str], bool]) -> Array:
        """Mask over task rows: the operator type is known and passes the test."""
        texts, number = self.types
        passed = np.array([t is not None and test(t) for t in texts], bool)
        if not passed.any():
            return np.zeros(len(rows), bool)
        return np.take(passed, self._stream_types if rows is self.streams else np.take(number, rows))

    @cached_property
    def _stream_types(self) -> Array:
        """Number of the type of each of `streams`, which most rules ask about."""
        return np.take(self.types[1], self.streams)

    def durations(self, rows: Array) -> Array:
        """Lengths of task rows, ns."""
        here = self._in_place if rows is self.streams else rows
        lengths: Array = self._lengths[here] if isinstance(here, slice) else np.take(self._lengths, here)
        return lengths.astype(np.int64)

    @cached_property
    def _in_place(self) -> Array | slice:
        """`streams` as an index: a slice where it is one stretch of the table."""
        rows = self.streams
        return stretch(rows) if (rows[1:] > rows[:-1]).all() else rows

    @cached_property
    def _lengths(self) -> Array:
        task = self.trace.task
        return narrow(task["end"] - task["start"]) if task else np.zeros(0, np.int64)
