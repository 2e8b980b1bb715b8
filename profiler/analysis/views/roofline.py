"""How close kernels come to the chip (view V9): a floor from operations and bytes, and the pipe that bounds them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np

from npu.soc import Soc
from profiler.analysis.calls import column
from profiler.analysis.kernel_work import KernelWork, kernel_work, on_cube, peak_flops_per_ns
from profiler.analysis.views.basis import Basis
from profiler.trace import Array, Trace

BOUND = 0.8  # a pipe this busy bounds the kernel
PIPES = ("mac", "vec", "mte1", "mte2", "mte3", "fixpipe", "scalar")
CLOCK = "AI Core Freq"  # counter, MHz


@dataclass(frozen=True)
class Roofline:
    """Kernels of the window on the cores, one entry each, in order of their start. row: of the task table. mhz: mean clock over
    each. What follows from a kind alone is kept once a kind and looked up when asked for."""

    trace: Trace
    chip: Soc
    row: Array
    mhz: Array
    _kind: Array  # of each kernel
    _flops: Array
    _bytes: Array
    _peak: Array
    _cube: Array

    @property
    def duration(self) -> Array:
        """Length of each, ns."""
        lengths: Array = (self.trace.task["end"][self.row] - self.trace.task["start"][self.row]) if len(self.row) else self.row
        return lengths.astype(np.int64, copy=False)

    @property
    def flops(self) -> Array:
        """Operations; 0 where its work cannot be told from its shapes."""
        return np.take(self._flops, self._kind)

    @property
    def bytes(self) -> Array:
        """All inputs and outputs once; 0 likewise."""
        return np.take(self._bytes, self._kind)

    @property
    def peak(self) -> Array:
        """Operations per ns of its type at its clock; that of one operation per ns at the rated clock where unknown."""
        at_clock: Array = np.take(self._peak, self._kind) * self.mhz / max(1, self.chip.cube_mhz)
        return at_clock

    @property
    def cube(self) -> Array:
        """Mask: its main part is a product."""
        return np.take(self._cube, self._kind)

    @cached_property
    def floor_ns(self) -> Array:
        """What operations and bytes take at least; 0 where its work cannot be told."""
        floor: Array = np.maximum(self.flops / self.peak, self.bytes / self.chip.memory_gbps)
        return floor

    @property
    def efficiency(self) -> Array:
        """Floor over duration; 0 where its work cannot be told."""
        share: Array = self.floor_ns / np.maximum(self.duration, 1)
        return share

    @property
    def bound(self) -> Array:
        """Index into PIPES of the pipe that bounds it; -1: no pipe is busy enough; -2: no counters."""
        return _bound(self.trace, self.row)


def roofline(basis: Basis) -> Roofline:
    """Kernels on the cores of the window (AI CPU kernels have no roofline)."""
    rows = basis.kernels("kernel")
    kinds, number = basis.kinds
    made = [kernel_work(*texts) for texts in kinds] or [None]
    return Roofline(
        basis.trace,
        basis.chip,
        rows,
        clock(basis.trace, basis.chip, rows),
        number[rows] if kinds else np.zeros(len(rows), np.int32),
        np.array([w.flops if w else 0.0 for w in made]),
        np.array([w.bytes if w else 0 for w in made], float),
        np.array([_peak(w, basis.chip) for w in made]),
        np.array([on_cube(texts[0]) for texts in kinds] or [False]),
    )


def _peak(work: KernelWork | None, chip: Soc) -> float:
    return peak_flops_per_ns(work, chip, chip.cube_mhz) if work else 1.0


def clock(trace: Trace, chip: Soc, rows: Array) -> Array:
    """Clock at the middle of each task, MHz: the last sample before it, the rated clock where none was taken."""
    constant = np.broadcast_to(float(chip.cube_mhz), len(rows))
    if not trace.counter or not len(rows):
        return constant
    ids = trace.strings.matching(lambda text: text.startswith(CLOCK))
    samples = np.flatnonzero(np.isin(trace.counter["name"], ids) & (trace.counter["value"] > 0))
    if not len(samples):
        return constant
    rated = constant.copy()
    middle = (trace.task["start"][rows] + trace.task["end"][rows]) // 2
    for device in np.unique(trace.counter["device"][samples]):
        mine = samples[trace.counter["device"][samples] == device]
        mine = mine[np.argsort(trace.counter["time"][mine], kind="stable")]
        here = np.flatnonzero(trace.task["device"][rows] == device)
        at = np.searchsorted(trace.counter["time"][mine], middle[here], side="right") - 1
        rated[here] = trace.counter["value"][mine[np.maximum(at, 0)]]
    return rated


def ratio(trace: Trace, pipe: str, rows: Array) -> Array:
    """Share of a kernel's time in which a pipe works, 0..1; NaN where it was not measured."""
    found = [trace.task.at(n, rows) for n in (f"aic_{pipe}_ratio", f"aiv_{pipe}_ratio", f"{pipe}_ratio") if n in trace.task]
    if not found:
        return np.full(len(rows), np.nan)
    best: Array = reduce(np.fmax, found)  # the larger of two, or the one that is known
    return best


def _bound(trace: Trace, rows: Array) -> Array:
    measured, highest, best = np.zeros(len(rows), bool), np.zeros(len(rows)), np.full(len(rows), -1)
    for number, pipe in enumerate(PIPES):
        values = ratio(trace, pipe, rows)
        measured |= ~np.isnan(values)
        better = values > highest
        highest[better], best[better] = values[better], number
    bound: Array = np.where(~measured, -2, np.where(highest >= BOUND, best, -1))
    return bound


def cores(trace: Trace, chip: Soc, rows: Array) -> Array:
    """How many cores each kernel could use: cube or vector ones by its task type."""
    types = column(trace, "task", "task_type")[rows]
    vector = trace.strings.matching(lambda text: text in ("AI_VECTOR_CORE", "MIX_AIV"))
    found: Array = np.where(np.isin(types, vector), chip.vector_cores, chip.aic)
    return found
