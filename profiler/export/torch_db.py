"""ascend_pytorch_profiler_{rank}.db: the database of msprof with the framework's tables of steps and memory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from npu import events
from profiler.export import chrome, columns
from profiler.export.allocations import changes, pairs
from profiler.export.database import Database, whole_database
from profiler.export.memory_record import COMPONENT
from profiler.export.msprof_db import TABLES
from profiler.export.torch_steps import steps
from profiler.trace import Array, Trace

NOTHING = -1  # of a column the trace has no value for


def fill(trace: Trace, path: Path) -> None:
    """A database of that name. FileExistsError when it is there."""
    with whole_database(path) as database:
        for tables in TABLES:
            tables(database, _without_steps(trace))
        _steps(database, trace)
        if trace.memory:
            _records(database, trace)
            _operators(database, trace)


def _without_steps(trace: Trace) -> Trace:
    """Steps have a table of their own here, and are no marks."""
    if not trace.marker:
        return trace
    return replace(trace, marker=trace.marker.take(trace.marker["kind"] != events.MARKERS.index("step")))


def _steps(database: Database, trace: Trace) -> None:
    zero = chrome.unix_zero(trace)
    found = [(int(number or n), begin + zero, end + zero) for n, (number, begin, end) in enumerate(steps(trace), 1)]
    database.facts("STEP_TIME", found)


def _records(database: Database, trace: Trace) -> None:
    memory = trace.memory.take(changes(trace))
    if not memory:
        return
    allocated, reserved, device = (columns.column(memory, n) for n in ("allocated", "reserved", "device"))
    component = database.text_column(trace.strings, columns.column(memory, "component"), COMPONENT)
    times = memory["time"] + chrome.unix_zero(trace)
    database.insert("MEMORY_RECORD", component, times, allocated, reserved, allocated, NOTHING, device)


def _operators(database: Database, trace: Trace) -> None:
    """One row per allocation; the release, its duration and totals are NULL where none was seen."""
    memory, found, zero = trace.memory, pairs(trace), chrome.unix_zero(trace)
    if not len(found.alloc):
        return
    row = np.where(found.alloc >= 0, found.alloc, found.free)
    name = columns.column(memory, "name" if "name" in memory else "site")[row]
    size = columns.column(memory, "bytes")[row] * np.where(found.alloc >= 0, 1, -1)

    def at(values: Array, rows: Array, plus: int = 0) -> list[int | None]:
        return [int(values[r]) + plus if r >= 0 else None for r in rows.tolist()]

    begun, ended = at(memory["time"], found.alloc, zero), at(memory["time"], found.free, zero)
    lasted = [e - b if b is not None and e is not None else None for b, e in zip(begun, ended, strict=True)]
    allocated, reserved = (columns.column(memory, n) for n in ("allocated", "reserved"))
    totals = [at(t, rows) for rows in (found.alloc, found.free) for t in (allocated, reserved, allocated)]
    database.create("OP_MEMORY")
    names = database.text_column(trace.strings, name, "").tolist()
    device = columns.column(memory, "device")[row].tolist()
    values = zip(names, size.tolist(), begun, ended, ended, lasted, lasted, *totals, [None] * len(row), device, strict=True)
    database.connection.executemany(f"INSERT INTO OP_MEMORY VALUES ({','.join('?' * 15)})", values)
