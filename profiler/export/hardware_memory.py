"""Samples of device memory of a capture, as --sys-hardware-mem takes them: what the program holds, and the rate of the HBM.

Captures hold every allocation and every task, so samples follow from them. The rate of an interval is the bytes that kernels are
modelled to move and copies have moved in it; a task moves its bytes evenly over its time.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from npu import events
from profiler.export import columns
from profiler.export.allocations import changes
from profiler.export.timeline_overlap import devices_of
from profiler.trace import Array, Columns, Trace

HZ = 50  # samples a second, the real default
HELD, READ, WRITE = "APP/HBM", "HBM 0/Read", "HBM 0/Write"  # series of the timeline; the stacks of the HBM are one here
MB = 1e6
UNITS = {HELD: 1024.0}  # bytes of one unit of the series


def sampled(trace: Trace) -> Trace:
    """The trace with these samples among its counters; the same one unless it is a capture of ours that was asked for them, and
    when it has them already."""
    collection = trace.meta.get("collection")
    asked = collection if isinstance(collection, dict) else {}
    known = set(trace.counter["name"].tolist()) if trace.counter else set()
    if trace.meta.get("generator") != "npuscope" or asked.get("sys_hardware_mem") is not True:
        return trace
    if any(trace.strings.find(n) in known for n in (HELD, READ, WRITE)):
        return trace
    begin, end = trace.span()
    step = round(1e9 / int(asked.get("sys_hardware_mem_freq", HZ)))
    if end <= begin:
        return trace
    times = np.arange(begin, end + step, step)
    made: list[tuple[str, int, Array, Array]] = []
    for device in devices_of(trace):
        made.append((HELD, device, times, _held(trace, device, times) / UNITS[HELD]))
        for name, moved in ((READ, _moved(trace, device, "read_bytes", ("d2h", "d2d"))),
                            (WRITE, _moved(trace, device, "write_bytes", ("h2d", "d2d")))):  # fmt: skip
            rate = np.diff(_total(trace, device, moved, times)) / step * 1e9 / MB
            made.append((name, device, times[1:], rate))
    if not made:
        return trace
    fresh = {
        "time": np.concatenate([t for _, _, t, _ in made]),
        "value": np.concatenate([v for _, _, _, v in made]).astype(np.float64),
        "device": np.concatenate([np.full(len(t), d, np.int32) for _, d, t, _ in made]),
        "name": np.concatenate([np.full(len(t), trace.strings.id(n), np.int32) for n, _, t, _ in made]),
    }
    if trace.counter:
        fresh = {n: np.concatenate([trace.counter[n], fresh[n]]) for n in fresh}
    return replace(trace, counter=Columns(fresh))


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
    if not task:
        return np.zeros(0)
    kernel = np.nan_to_num(np.asarray(task[column], np.float64)) if column in task else np.zeros(len(task))
    copies = np.isin(columns.column(task, "direction"), [events.DIRECTIONS.index(d) for d in directions])
    bytes_ = np.where(copies & trace.tasks_of("copy"), columns.column(task, "bytes"), np.maximum(kernel, 0))
    moved: Array = np.where(task["device"] == device, np.maximum(bytes_, 0), 0)
    return moved


def _total(trace: Trace, device: int, moved: Array, times: Array) -> Array:
    """Bytes moved until each time: the integral of the sum of all tasks' rates."""
    if not moved.any():
        return np.zeros(len(times))
    mine = np.flatnonzero(moved > 0)
    start, end = trace.task["start"][mine], np.maximum(trace.task["end"][mine], trace.task["start"][mine] + 1)
    rate = moved[mine] / (end - start)
    at = np.concatenate((start, end))
    order = np.argsort(at, kind="stable")
    at = at[order]
    slope = np.cumsum(np.concatenate((rate, -rate))[order])
    total = np.concatenate(([0.0], np.cumsum(slope[:-1] * np.diff(at))))
    found: Array = np.interp(times, at, total)
    return found
