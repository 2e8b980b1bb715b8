"""COMMUNICATION_OP and COMMUNICATION_TASK_INFO: collectives and their parts."""

from __future__ import annotations

import numpy as np

from npu import events
from profiler.export import chrome, columns, words
from profiler.export.database import Database, enum_ids
from profiler.export.db_tasks import NO_ID, insert_tasks
from profiler.export.timeline_comm import PARTS
from profiler.trace import Array, Columns, Trace

NO_NOTIFY = (1 << 63) - 1  # the largest integer of SQLite
MAIN_PLANE = 0  # the plane that carries the operator's own waits


def write(database: Database, trace: Trace) -> None:
    """Operators, then parts; parts that are no tasks of the trace become TASK rows, which is where their times stand."""
    if not trace.comm:
        return
    is_op = trace.comm["level"] == events.COMM_LEVELS.index("op")
    ops, parts = trace.comm.take(is_op), trace.comm.take(~is_op)
    _operators(database, trace, ops)
    if parts:
        _parts(database, trace, ops, parts)


def _codes(trace: Trace, table: str, ids: Array, missing: str) -> Array:
    """Texts as numbers of an ENUM_ table; what the table does not have is INVALID_TYPE."""
    known, which = np.unique(ids, return_inverse=True)
    numbers = enum_ids(table)
    texts = [trace.strings[i] if i >= 0 else missing for i in known.tolist()]
    return np.array([numbers.get(t, numbers["INVALID_TYPE"]) for t in texts])[which]


def _operators(database: Database, trace: Trace, ops: Columns) -> None:
    if not ops:
        return
    strings, zero = trace.strings, chrome.unix_zero(trace)
    names, which = np.unique(ops["name"], return_inverse=True)
    types = database.texts([words.operator_type(strings[i]) for i in names.tolist()])[which]
    correlation = columns.column(ops, "correlation")
    database.insert(
        "COMMUNICATION_OP",
        database.text_column(strings, ops["name"]),
        ops["start"] + zero,
        ops["end"] + zero,
        np.where(correlation >= 0, correlation, NO_ID),
        database.text_column(strings, columns.column(ops, "group")),
        np.arange(len(ops)),
        0,
        0,
        _codes(trace, "ENUM_HCCL_DATA_TYPE", columns.column(ops, "dtype"), "N/A"),
        database.text_column(strings, columns.column(ops, "algorithm")),
        np.maximum(columns.column(ops, "count"), 0),
        types,
        ops["device"],
    )


def _parts(database: Database, trace: Trace, ops: Columns, parts: Columns) -> None:
    strings = trace.strings
    kinds, which = np.unique(columns.column(parts, "part"), return_inverse=True)
    usual = database.texts([PARTS[events.COMM_PARTS[k]] if k >= 0 else "N/A" for k in kinds.tolist()])[which]
    types = np.where(parts["name"] >= 0, database.text_column(strings, parts["name"]), usual)
    task = _tasks_of(trace, parts)
    fresh = np.flatnonzero(task < 0)
    task[fresh] = len(trace.task) + np.arange(len(fresh))
    if len(fresh):
        insert_tasks(database, trace, parts.take(fresh), task[fresh], types[fresh], NO_ID)
    op = operator_of(ops, parts)
    names = database.text_column(strings, ops["name"])[op] if ops else np.full(len(parts), database.text("N/A"))
    plane, notify = columns.column(parts, "plane"), columns.column(parts, "notify")
    src, dst = (np.where(v >= 0, v, NO_ID) for v in (columns.column(parts, "src"), columns.column(parts, "dst")))
    size = np.maximum(columns.column(parts, "bytes"), 0)
    length = np.maximum(parts["end"] - parts["start"], 1)
    database.insert(
        "COMMUNICATION_TASK_INFO",
        np.where(op >= 0, names, database.text("N/A")),
        task,
        types,
        np.maximum(plane, 0),
        database.text_column(strings, columns.column(parts, "group")),
        np.where(notify >= 0, notify, NO_NOTIFY),
        enum_ids("ENUM_HCCL_RDMA_TYPE")["INVALID_TYPE"],
        src,
        dst,
        _codes(trace, "ENUM_HCCL_TRANSPORT_TYPE", columns.column(parts, "transport"), "INVALID_TYPE"),
        size,
        _codes(trace, "ENUM_HCCL_DATA_TYPE", columns.column(parts, "dtype"), "INVALID_TYPE"),
        _codes(trace, "ENUM_HCCL_LINK_TYPE", columns.column(parts, "link"), "INVALID_TYPE"),
        np.where(op >= 0, op, NO_ID),
        (plane <= MAIN_PLANE).astype(np.int64),
        np.round(size * 1e9 / length),
    )
    database.connection.execute("CREATE INDEX CommunicationTaskIndex ON COMMUNICATION_TASK_INFO (globalTaskId)")


def _tasks_of(trace: Trace, parts: Columns) -> Array:
    """The task row each part is, found by device, stream, task id and start; -1 for none."""
    keys = ("device", "stream", "task_id", "start")
    number = columns.column(parts, "task_id")
    if not trace.task or not (number >= 0).any():
        return np.full(len(parts), -1, np.int64)
    both = [np.concatenate([columns.column(t, k).astype(np.int64) for t in (trace.task, parts)]) for k in keys]
    rows, which = columns.distinct(both)
    task_of = np.full(len(rows), -1, np.int64)
    task_of[which[: len(trace.task)]] = np.arange(len(trace.task))
    return np.where(number >= 0, task_of[which[len(trace.task) :]], -1)


def operator_of(ops: Columns, parts: Columns) -> Array:
    """For each part the row of the operator it belongs to, -1 for none.

    1. Both carry a key: the device and the operator's name if parts tell it, else the device and the group.
    2. Of the operators with the same key the last one that began before the part is its operator.
    """
    said = columns.column(parts, "op")
    by_name = len(said) > 0 and bool((said >= 0).all())
    mine = said if by_name else columns.column(parts, "group")
    theirs = ops["name"] if by_name and ops else columns.column(ops, "group")
    if not ops:
        return np.full(len(parts), -1, np.int64)
    start = np.concatenate((ops["start"], parts["start"]))
    key, device = np.concatenate((theirs, mine)).astype(np.int64), np.concatenate((ops["device"], parts["device"]))
    is_part = np.arange(len(start)) >= len(ops)
    order = np.lexsort((is_part, start, key, device))
    place = np.maximum.accumulate(np.where(is_part[order], -1, np.arange(len(order))))
    owner = np.where(place >= 0, order[np.maximum(place, 0)], -1)
    same = (owner >= 0) & (key[order] == key[owner]) & (device[order] == device[owner])
    found = np.empty(len(order), np.int64)
    found[order] = np.where(same, owner, -1)
    return found[len(ops) :]
