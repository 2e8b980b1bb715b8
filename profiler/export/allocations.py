"""Allocations with their releases: the pairs that operator_memory is made of."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from npu import events
from profiler.export import columns
from profiler.trace import Array, Columns, Trace


class Pairs(NamedTuple):
    """Rows of the memory table: an allocation and its release, -1 for one that was not seen. In order of time."""

    alloc: Array
    free: Array


def changes(trace: Trace) -> Array:
    """Rows that allocate or release, in order of time."""
    if not trace.memory:
        return np.zeros(0, np.int64)
    wanted = [events.MEMORY_EVENTS.index(e) for e in ("alloc", "free")]
    rows = np.flatnonzero(np.isin(trace.memory["event"], wanted))
    return rows[np.argsort(trace.memory["time"][rows], kind="stable")]


def pairs(trace: Trace) -> Pairs:
    """A release ends the last allocation of its number (or address) on its device that is still open."""
    memory: Columns = trace.memory
    key = columns.column(memory, "allocation" if "allocation" in memory else "address")
    device = columns.column(memory, "device")
    is_alloc = events.MEMORY_EVENTS.index("alloc")
    open_: dict[tuple[int, int], int] = {}
    made: list[tuple[int, int]] = []
    for row in changes(trace).tolist():
        name = (int(device[row]), int(key[row]))
        if memory["event"][row] == is_alloc:
            open_[name] = len(made)
            made.append((row, -1))
        elif name in open_:
            number = open_.pop(name)
            made[number] = (made[number][0], row)
        else:
            made.append((-1, row))
    table = np.array(made, np.int64).reshape(-1, 2)
    return Pairs(table[:, 0], table[:, 1])
