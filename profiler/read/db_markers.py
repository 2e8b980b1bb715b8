"""Host ranges of a database: framework operators, queues, python functions, steps, garbage collection, ranges of the user."""

from __future__ import annotations

import numpy as np

from npu import events
from profiler.read import times
from profiler.read.chrome_groups import marker_kinds
from profiler.read.collect import Pile
from profiler.read.database import Database
from profiler.trace import Array, Trace

# Types of PYTORCH_API rows (ENUM_API_TYPE) -> category as the timeline names it.
CATEGORIES = {50001: "cpu_op", 50002: "queue", 50003: "python_function", 50004: "mstx"}
MARK = 0  # ENUM_MSTX_EVENT_TYPE: an instant


def read_into(trace: Trace, database: Database) -> None:
    pile = Pile()
    strings = database.convert.strings
    for rows, category in ((_framework(trace, database), ""), (_steps(database), "profiler_step"), (_mstx(database), "")):
        if rows:
            if "kind" not in rows:
                rows["kind"] = marker_kinds(strings, rows["name"], category)
            pile.add(rows)
    for table, category in (("GC_RECORD", "GC"), ("OSRT_API", "")):
        rows = database.read(table)
        if {"start", "end"} <= rows.keys():
            rows.setdefault("name", np.full(len(rows["start"]), strings.id(table.partition("_")[0]), np.int32))
            rows["thread"] = _threads(rows)
            pile.add(rows | {"kind": marker_kinds(strings, rows["name"], category)})
    if len(pile):
        trace.marker = pile.columns(("name", "thread"))


def _threads(rows: dict[str, Array]) -> Array:
    tid = rows.pop("_tid", None)
    return np.full(len(rows["start"]), -1, np.int32) if tid is None else (tid & 0x7FFFFFFF).astype(np.int32)


def _framework(trace: Trace, database: Database) -> dict[str, Array]:
    rows = database.read("PYTORCH_API")
    if not {"start", "end", "name"} <= rows.keys():
        return {}
    strings = database.convert.strings
    count = len(rows["start"])
    rows["thread"] = _threads(rows)
    kind = rows.pop("_type", np.full(count, -1))
    queue = kind == next(k for k, n in CATEGORIES.items() if n == "queue")
    codes = np.full(count, events.MARKERS.index("range"), np.int8)
    for number, category in CATEGORIES.items():
        mine = kind == number
        if mine.any():
            codes[mine] = marker_kinds(strings, rows["name"][mine], category)
    begun = strings.matching(lambda t: t.startswith("Enqueue"))
    codes[queue] = np.where(np.isin(rows["name"][queue], begun), *(events.MARKERS.index(k) for k in ("enqueue", "dequeue")))
    rows["kind"] = codes
    rows["domain"] = np.array([strings.id(CATEGORIES[k]) if k in CATEGORIES else -1 for k in kind.tolist()], np.int32)
    rows["correlation"] = _connections(trace, database, rows.pop("_connection", np.full(count, -1)), queue)
    chain = rows.pop("_chain", None)
    if chain is not None:
        rows["stack"] = _stacks(database, chain)
    return rows


def _connections(trace: Trace, database: Database, own: Array, queue: Array) -> Array:
    """Rows point to one or more connection ids: queue entries take their first (both ends of a hand-over share it), operators
    the last that a task carries, as the arrows of a timeline do."""
    pairs = database.read("CONNECTION_IDS")
    if not {"_key", "connection"} <= pairs.keys():
        return own
    tasks = set(trace.task["correlation"].tolist()) if "correlation" in trace.task else set()
    first: dict[int, int] = {}
    launched: dict[int, int] = {}
    for key, connection in zip(pairs["_key"].tolist(), pairs["connection"].tolist(), strict=True):
        first.setdefault(key, connection)
        if connection in tasks:
            launched[key] = connection
    chosen = [(first if q else launched).get(k, -1) if k >= 0 else -1 for k, q in zip(own.tolist(), queue.tolist(), strict=True)]
    return np.array(chosen, np.int64)


def _stacks(database: Database, chain: Array) -> Array:
    """Call stacks as texts, the innermost frame first."""
    rows = database.read("PYTORCH_CALLCHAINS")
    if not {"_key", "stack"} <= rows.keys():
        return np.full(len(chain), -1, np.int32)
    strings = database.convert.strings
    depth = rows.get("depth", np.zeros(len(rows["_key"]), np.int64))
    frames: dict[int, list[str]] = {}
    for row in np.lexsort((depth, rows["_key"])).tolist():
        frames.setdefault(int(rows["_key"][row]), []).append(strings[int(rows["stack"][row])])
    ids = {key: strings.id(";\r\n".join(texts)) for key, texts in frames.items()}
    return np.array([ids.get(c, -1) for c in chain.tolist()], np.int32)


def _steps(database: Database) -> dict[str, Array]:
    rows = database.read("STEP_TIME")
    if not {"_step", "start", "end"} <= rows.keys():
        return {}
    number = rows.pop("_step")
    rows["name"] = database.convert.texts([f"ProfilerStep#{n}" for n in number.tolist()])
    return rows | {"thread": np.full(len(number), -1, np.int32)}


def _mstx(database: Database) -> dict[str, Array]:
    rows = database.read("MSTX_EVENTS")
    if not {"start", "end"} <= rows.keys():
        return {}
    rows["thread"] = _threads(rows)
    rows.setdefault("name", np.full(len(rows["start"]), -1, np.int32))
    mark = rows.pop("_type", np.full(len(rows["start"]), -1)) == MARK
    rows["end"] = np.where(rows["end"] == times.NONE, rows["start"], rows["end"])
    rows["kind"] = np.where(mark, *(events.MARKERS.index(k) for k in ("mark", "range"))).astype(np.int8)
    return rows
