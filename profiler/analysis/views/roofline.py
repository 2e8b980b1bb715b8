"""How close kernels come to the chip (view V9): a floor from operations and bytes, and the pipe that bounds them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from npu.soc import Soc
from profiler.analysis.calls import column
from profiler.analysis.groups import numbered, one_of_each, shared_index
from profiler.analysis.kernel_work import KernelWork, kernel_work, on_cube, peak_flops_per_ns
from profiler.analysis.views.basis import Basis
from profiler.trace import Array, Columns, Trace

BOUND = 0.8  # a pipe this busy bounds the kernel
PIPES = ("mac", "vec", "mte1", "mte2", "mte3", "fixpipe", "scalar")
CLOCK = "AI Core Freq"  # counter, MHz


@dataclass(frozen=True)
class Roofline:
    """Kernels of the window on the cores, one entry each, in order of their start. row: of the task table. mhz: mean clock over
    each. What follows from a kind alone is kept once a kind and looked up when asked for."""

    basis: Basis
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
        return self.basis.durations(self.row)

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
        at_clock: Array = np.take(self._peak, self._kind) * self.mhz / max(1, self.basis.chip.cube_mhz)
        return at_clock

    @property
    def _steady(self) -> bool:
        """The clock was the same all the time, so that what follows from it is one number a kind."""
        return self.mhz.strides == (0,) and len(self.mhz) > 0

    @property
    def cube(self) -> Array:
        """Mask: its main part is a product."""
        return np.take(self._cube, self._kind)

    @property
    def floor_ns(self) -> Array:
        """What operations and bytes take at least; 0 where its work cannot be told."""
        if self._steady:
            peak = self._peak * self.mhz[0] / max(1, self.basis.chip.cube_mhz)
            return np.take(np.maximum(self._flops / peak, self._bytes / self.basis.chip.memory_gbps), self._kind)
        floor: Array = np.maximum(self.flops / self.peak, self.bytes / self.basis.chip.memory_gbps)
        return floor

    @property
    def efficiency(self) -> Array:
        """Floor over duration; 0 where its work cannot be told."""
        share: Array = self.floor_ns / np.maximum(self.duration, 1)
        return share

    @property
    def bound(self) -> Array:
        """Index into PIPES of the pipe that bounds it; -1: no pipe is busy enough; -2: no counters."""
        return _bound(self.basis.trace, self.row)


def roofline(basis: Basis) -> Roofline:
    """Kernels on the cores of the window (AI CPU kernels have no roofline)."""
    rows = basis.kernels("kernel")
    kinds, number = basis.kinds
    made = [kernel_work(*texts) for texts in kinds] or [None]
    return Roofline(
        basis,
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
    names = [n for n in (f"aic_{pipe}_ratio", f"aiv_{pipe}_ratio", f"{pipe}_ratio") if n in trace.task]
    if not names:
        return np.full(len(rows), np.nan)

    def larger(some: Array) -> Array:  # of two, or the one that is known
        best: Array = reduce(np.fmax, [trace.task.at(n, some) for n in names])
        return best

    return per_kernel(trace.task, names, rows, larger)


def busiest(trace: Trace, pipes: Sequence[str], rows: Array) -> Array:
    """The largest of these pipes' shares of each kernel's time; 0 where none was measured."""
    names = [n for n in trace.task if n.endswith("_ratio")]

    def largest(some: Array) -> Array:
        shares: Array = np.max([np.nan_to_num(ratio(trace, pipe, some)) for pipe in pipes], axis=0, initial=0.0)
        return shares

    return per_kernel(trace.task, names, rows, largest)


def per_kernel(table: Columns, names: Sequence[str], rows: Array, value: Callable[[Array], Array]) -> Array:
    """value(rows), where it follows from some columns of each row alone: where these follow from one other column, it is worked
    out once for each of that one's values."""
    index = shared_index(table, names)
    if index is None or not len(rows):
        return value(rows)
    place, count = numbered(np.take(index, rows))
    return np.take(value(rows[one_of_each(place, count)]), place)


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
