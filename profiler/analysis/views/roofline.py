"""How close kernels come to the chip (view V9): a floor from operations and bytes, and the pipe that bounds them."""

from __future__ import annotations

from functools import reduce
from typing import NamedTuple

import numpy as np

from npu.soc import Soc
from profiler.analysis.calls import column
from profiler.analysis.groups import distinct
from profiler.analysis.kernel_work import KernelWork, kernel_work, on_cube, peak_flops_per_ns
from profiler.analysis.views.basis import Basis
from profiler.trace import Array, Trace

COLUMNS = ("op_type", "in_shapes", "in_dtypes", "in_formats", "out_shapes", "out_dtypes", "out_formats")
BOUND = 0.8  # a pipe this busy bounds the kernel
PIPES = ("mac", "vec", "mte1", "mte2", "mte3", "fixpipe", "scalar")
CLOCK = "AI Core Freq"  # counter, MHz


class Roofline(NamedTuple):
    """Columns per kernel of the window: row of the task table, operations, bytes, peak (of its type at its clock, operations per
    ns; 1 where unknown), floor_ns (0: its work cannot be told from its
    shapes), efficiency (floor over duration, 0 likewise), cube (its main part is a product), bound (index into PIPES; -1: no pipe
    is busy enough; -2: no counters). mhz: mean clock over each kernel."""

    row: Array
    flops: Array
    bytes: Array
    peak: Array
    floor_ns: Array
    efficiency: Array
    cube: Array
    bound: Array
    mhz: Array


def roofline(basis: Basis) -> Roofline:
    """Kernels on the cores of the window (AI CPU kernels have no roofline)."""
    trace = basis.trace
    rows = basis.kernels("kernel")
    count = len(rows)
    flops, moved, peak = np.zeros(count), np.zeros(count), np.ones(count)
    cube = np.zeros(count, bool)
    mhz = clock(trace, basis.chip, rows)
    if count and all(name in trace.task for name in COLUMNS):
        texts = trace.strings
        kinds, place = distinct(*(trace.task[n][rows] for n in COLUMNS))
        made = [kernel_work(*(texts[i] for i in ids)) for ids in kinds.tolist()]
        place = place.ravel()
        flops = np.array([w.flops if w else 0.0 for w in made])[place]
        moved = np.array([w.bytes if w else 0 for w in made], float)[place]
        cube = np.array([on_cube(texts[ids[0]]) for ids in kinds.tolist()])[place]
        peak = np.array([_peak(w, basis.chip) for w in made])[place] * mhz / max(1, basis.chip.cube_mhz)
    floor = np.maximum(flops / peak, moved / basis.chip.memory_gbps)
    duration = np.maximum(basis.durations(rows), 1)
    return Roofline(rows, flops, moved, peak, floor, floor / duration, cube, _bound(trace, rows), mhz)


def _peak(work: KernelWork | None, chip: Soc) -> float:
    return peak_flops_per_ns(work, chip, chip.cube_mhz) if work else 1.0


def clock(trace: Trace, chip: Soc, rows: Array) -> Array:
    """Clock at the middle of each task, MHz: the last sample before it, the rated clock where none was taken."""
    rated = np.full(len(rows), float(chip.cube_mhz))
    if not trace.counter or not len(rows):
        return rated
    ids = trace.strings.matching(lambda text: text.startswith(CLOCK))
    samples = np.flatnonzero(np.isin(trace.counter["name"], ids) & (trace.counter["value"] > 0))
    if not len(samples):
        return rated
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
    found = [trace.task[n][rows] for n in (f"aic_{pipe}_ratio", f"aiv_{pipe}_ratio", f"{pipe}_ratio") if n in trace.task]
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
