"""NPU_OP_MEM (allocations and releases) and NPU_MODULE_MEM (what each module of the stack holds)."""

from __future__ import annotations

import numpy as np

from npu import events
from profiler.export import chrome, columns
from profiler.export.database import Database, enum_ids
from profiler.trace import Array, Columns, Trace

TYPES = {"alloc": "allocate", "free": "release"}
COMPONENT = "APP"  # who allocated when the source does not say


def write(database: Database, trace: Trace) -> None:
    """Nothing without memory rows. Totals the source did not have are 0."""
    if not trace.memory:
        return
    event = trace.memory["event"]
    changes = trace.memory.take(np.isin(event, [events.MEMORY_EVENTS.index(t) for t in TYPES]))
    if changes:
        _changes(database, trace, changes)
    samples = trace.memory.take(event == events.MEMORY_EVENTS.index("sample"))
    if samples:
        _modules(database, trace, samples)


def _total(table: Columns, name: str) -> Array:
    return np.maximum(columns.column(table, name), 0)


def _changes(database: Database, trace: Trace, table: Columns) -> None:
    strings, pid = trace.strings, int(trace.meta.get("pid", 0))
    types = np.zeros(len(events.MEMORY_EVENTS), np.int64)
    for event, text in TYPES.items():
        types[events.MEMORY_EVENTS.index(event)] = database.text(text)
    name = columns.column(table, "name" if "name" in table else "site")
    database.insert(
        "NPU_OP_MEM",
        database.text_column(strings, name),
        np.maximum(columns.column(table, "address"), 0),
        types[table["event"]],
        table["bytes"],
        table["time"] + chrome.unix_zero(trace),
        pid << 32 | pid,
        _total(table, "allocated"),
        _total(table, "reserved"),
        database.text_column(strings, columns.column(table, "component"), COMPONENT),
        columns.column(table, "device"),
    )


def _modules(database: Database, trace: Trace, table: Columns) -> None:
    """Samples of components that are modules of the stack; others (PTA, WORKSPACE) have tables of the framework's own files."""
    modules = enum_ids("ENUM_MODULE")
    component = columns.column(table, "component")
    known, which = np.unique(component, return_inverse=True)
    module = np.array([modules.get(trace.strings[i], -1) for i in known.tolist()])[which]
    at = module >= 0
    database.insert(
        "NPU_MODULE_MEM",
        module[at],
        table["time"][at] + chrome.unix_zero(trace),
        _total(table, "reserved")[at],
        columns.column(table, "device")[at],
    )
