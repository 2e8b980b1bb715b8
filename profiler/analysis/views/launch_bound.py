"""Launches against kernels (view V6): short kernels and the stretches in which the device waits for every single launch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from profiler.analysis.groups import sort_by
from profiler.analysis.views.basis import Basis
from profiler.trace import Array

STRETCH_MIN = 20  # kernels in a row (spec of the analyzer, view V6)
LAUNCH_FALLBACK = 5_000  # ns, where no node-level launch was recorded


@dataclass(frozen=True, slots=True)
class LaunchBound:
    """kernels: linked kernels of the window. short: how many are shorter than their launching call. launch: median length of
    that call, ns. delay: median time from its end to the kernel, ns (negative: the kernel began first). stretches: maximal
    runs of STRETCH_MIN or more kernels that were launched after the kernel before had ended: device, first and last task
    row, kernels, span and sum of durations (ns)."""

    kernels: int
    short: int
    launch: int
    delay: int
    device: Array
    first: Array
    last: Array
    count: Array
    span: Array
    busy: Array

    @property
    def idle(self) -> int:
        """Time in stretches during which no kernel of them ran, ns."""
        return int((self.span - self.busy).sum())


def launch_bound(basis: Basis) -> LaunchBound:
    """Kernels of the window in order of their start, device by device."""
    trace, launches = basis.trace, basis.launches
    rows = basis.kernels()
    rows = rows[launches.row[rows] >= 0]
    nothing = np.zeros(0, np.int64)
    if not len(rows):
        return LaunchBound(0, 0, LAUNCH_FALLBACK, 0, *(nothing,) * 6)
    rows = rows[sort_by(np.take(trace.task["device"], rows))]
    device = np.take(trace.task["device"], rows)
    start, end = (np.take(trace.task[n], rows).astype(np.int64, copy=False) for n in ("start", "end"))
    call = np.take(launches.row, rows)
    returned = np.take(trace.api["end"], call)
    host = returned - np.take(trace.api["start"], call)
    bound = np.zeros(len(rows), bool)
    bound[1:] = (device[1:] == device[:-1]) & (np.take(launches.time, rows)[1:] >= np.maximum.accumulate(end)[:-1])
    # A run of bound kernels begins with the kernel before its first one.
    change = np.flatnonzero(np.diff(np.concatenate(([0], bound.view(np.int8), [0]))))
    firsts, lasts = change[::2] - 1, change[1::2] - 1
    long = lasts - firsts + 1 >= STRETCH_MIN
    firsts, lasts = firsts[long], lasts[long]
    sums = np.concatenate(([0], np.cumsum(end - start)))
    return LaunchBound(
        len(rows),
        int((end - start < host).sum()),
        int(np.median(host)),
        int(np.median(start - returned)),
        device[firsts],
        rows[firsts],
        rows[lasts],
        lasts - firsts + 1,
        end[lasts] - start[firsts],
        sums[lasts + 1] - sums[firsts],
    )
