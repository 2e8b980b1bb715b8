"""Samples of device memory, as --sys-hardware-mem takes them: what the program holds, and the rate of the HBM.

The rate of an interval is the bytes that kernels are modelled to move and copies have moved in it.
"""

from __future__ import annotations

import numpy as np

from npu import events
from profiler.samples import rates
from profiler.trace import Array, Trace

HELD, READ, WRITE = "APP/HBM", "HBM 0/Read", "HBM 0/Write"  # series of the timeline; the stacks of the HBM are one here
KB = 1024.0  # bytes of one unit of what is held


def series(trace: Trace, device: int, times: Array) -> list[tuple[str, Array, Array]]:
    """(name, times, values) of a device: KB held at each time, MB/s read and written since the time before."""
    return [(HELD, times, _held(trace, device, times) / KB), *traffic(trace, device, times)]


def traffic(trace: Trace, device: int, times: Array) -> list[tuple[str, Array, Array]]:
    """The two of them that tell the rate of the HBM."""
    if not trace.task:
        return []
    start, end = trace.task["start"], trace.task["end"]
    moved = (
        (READ, _moved(trace, device, "read_bytes", ("d2h", "d2d"))),
        (WRITE, _moved(trace, device, "write_bytes", ("h2d", "d2d"))),
    )
    return [(name, times[1:], rates.rate(start, end, bytes_, times)) for name, bytes_ in moved]


def _held(trace: Trace, device: int, times: Array) -> Array:
    """Bytes the program holds at each time: what was held after the last allocation or release before it."""
    memory = trace.memory
    if not memory:
        return np.zeros(len(times))
    changes = [events.MEMORY_EVENTS.index(e) for e in ("alloc", "free")]
    rows = np.flatnonzero(np.isin(memory["event"], changes) & (memory.filled("device") == device))
    rows = rows[np.argsort(memory["time"][rows], kind="stable")]
    held = np.concatenate(([0], np.maximum(memory.filled("allocated")[rows], 0)))
    found: Array = held[np.searchsorted(memory["time"][rows], times, side="right")]
    return found


def _moved(trace: Trace, device: int, column: str, directions: tuple[str, ...]) -> Array:
    """Bytes each task reads from or writes to the device's memory."""
    task = trace.task
    kernel = np.nan_to_num(np.asarray(task[column], np.float64)) if column in task else np.zeros(len(task))
    copies = np.isin(task.filled("direction"), [events.DIRECTIONS.index(d) for d in directions]) & trace.tasks_of("copy")
    bytes_ = np.where(copies, task.filled("bytes"), kernel)
    moved: Array = np.where(task["device"] == device, np.maximum(bytes_, 0), 0)
    return moved
