"""Samples of device memory, as --sys-hardware-mem takes them: what the program holds, and the rate of the HBM.

The rate of an interval is the bytes that kernels are modelled to move and copies have moved in it.
"""

from __future__ import annotations

import numpy as np

from npu import events
from profiler.export import columns, rates
from profiler.export.allocations import changes
from profiler.trace import Array, Trace

HELD, READ, WRITE = "APP/HBM", "HBM 0/Read", "HBM 0/Write"  # series of the timeline; the stacks of the HBM are one here
UNITS = {HELD: 1024.0}  # bytes of one unit of the series


def series(trace: Trace, device: int, times: Array) -> list[tuple[str, Array, Array]]:
    """(name, times, values) of a device: KB held at each time, MB/s read and written since the time before."""
    made = [(HELD, times, _held(trace, device, times) / UNITS[HELD])]
    if trace.task:
        start, end = trace.task["start"], trace.task["end"]
        for name, moved in ((READ, _moved(trace, device, "read_bytes", ("d2h", "d2d"))),
                            (WRITE, _moved(trace, device, "write_bytes", ("h2d", "d2d")))):  # fmt: skip
            made.append((name, times[1:], rates.rate(start, end, moved, times)))
    return made


def _held(trace: Trace, device: int, times: Array) -> Array:
    """Bytes the program holds at each time."""
    rows = changes(trace)
    rows = rows[columns.column(trace.memory, "device")[rows] == device] if len(rows) else rows
    if not len(rows):
        return np.zeros(len(times))
    held = np.concatenate(([0], np.maximum(columns.column(trace.memory, "allocated")[rows], 0)))
    found: Array = held[np.searchsorted(trace.memory["time"][rows], times, side="right")]
    return found


def _moved(trace: Trace, device: int, column: str, directions: tuple[str, ...]) -> Array:
    """Bytes each task reads from or writes to the device's memory."""
    task = trace.task
    kernel = np.nan_to_num(np.asarray(task[column], np.float64)) if column in task else np.zeros(len(task))
    copies = np.isin(columns.column(task, "direction"), [events.DIRECTIONS.index(d) for d in directions])
    bytes_ = np.where(copies & trace.tasks_of("copy"), columns.column(task, "bytes"), np.maximum(kernel, 0))
    moved: Array = np.where(task["device"] == device, np.maximum(bytes_, 0), 0)
    return moved
