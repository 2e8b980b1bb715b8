"""msprof_*.db, ascend_pytorch_profiler_*.db and ascend_mindspore_profiler_*.db -> rows of a Trace."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from npu import events
from profiler.read import db_about, db_markers, db_samples, tables
from profiler.read.chrome_groups import kinds, parts
from profiler.read.chrome_names import operators_of
from profiler.read.collect import Pile
from profiler.read.database import Database
from profiler.read.tables import Converter
from profiler.trace import Array, Columns, Trace

WORK = tuple(events.KINDS.index(n) for n in ("kernel", "aicpu"))
OP, PART = (events.COMM_LEVELS.index(n) for n in ("op", "part"))
# Numbers of ENUM_MEMCPY_OPERATION; 6 and 7 are forms of 1 and 2.
DIRECTIONS = {0: "h2h", 1: "h2d", 2: "d2h", 3: "d2d", 5: "d2d"}
# Counters carry no unit in the database (ns) and the names of two differ from the text files (us).
PMU_NAMES = {"aic_total_time": "aicore_time(us)", "aicore_total_time": "aicore_time(us)", "aiv_total_time": "aiv_time(us)"}


def read_into(trace: Trace, path: Path, convert: Converter) -> None:
    """Add everything a database holds to a trace, times in unix ns."""
    database = Database(path, convert)
    try:
        task = _tasks(database)
        if task:
            trace.task = Columns({n: c for n, c in task.items() if not n.startswith("_")})
        comm = _comm(database, task)
        if comm:
            trace.comm = comm
        api = _api(database)
        if api:
            trace.api = api
        db_markers.read_into(trace, database)
        db_samples.memory(database, trace)
        db_samples.counters(database, trace)
        trace.meta |= db_about.meta(database)
        trace.missing += database.problems
    finally:
        database.close()


def join(keys: Array, wanted: Array) -> Array:
    """For each wanted key the place in keys that holds it, -1 for none; of equal keys the first."""
    if not len(keys):
        return np.full(len(wanted), -1, np.int64)
    found, first = np.unique(keys, return_index=True)
    at = np.minimum(np.searchsorted(found, wanted), len(found) - 1)
    return np.where(found[at] == wanted, first[at], -1)


def _tasks(database: Database) -> Columns:
    rows = database.read("TASK")
    if "start" not in rows or "end" not in rows:
        return Columns()
    count = len(rows["start"])
    key = rows.get("_key", np.full(count, -1, np.int64))
    rows.setdefault("device", np.zeros(count, np.int32))
    rows.setdefault("stream", np.full(count, -1, np.int32))
    types = rows.get("task_type", np.full(count, -1, np.int32))
    rows["name"] = np.full(count, -1, np.int32)
    for table in ("COMPUTE_TASK_INFO", "COMMUNICATION_SCHEDULE_TASK_INFO"):
        info = database.read(table)
        if "_key" not in info:
            continue
        place = join(info["_key"], key)
        for name, column in info.items():
            if name != "_key":
                taken = np.where(place >= 0, column[np.maximum(place, 0)], -1)
                rows[name] = taken if name not in rows else np.where(taken >= 0, taken, rows[name])
    computed = rows["name"] >= 0
    rows["kind"], rows["direction"] = kinds(database.convert.strings, rows["name"], rows.get("task_type", types))
    if computed.any():  # parts of collectives run under the types of kernels too; a kernel has a row of its own
        rows["kind"] = np.where(computed | ~np.isin(rows["kind"], WORK), rows["kind"], events.KINDS.index("other")).astype(
            np.int8
        )
    rows["name"] = np.where(computed, rows["name"], types).astype(np.int32)
    copies = database.read("MEMCPY_INFO")
    if "_key" in copies:
        place = join(copies["_key"], key)
        if "bytes" in copies:
            rows["bytes"] = np.where(place >= 0, copies["bytes"][np.maximum(place, 0)], -1)
        if "operation" in copies:
            codes = {number: events.DIRECTIONS.index(name) for number, name in DIRECTIONS.items()}
            direction = np.array([codes.get(int(n), -1) for n in copies["operation"]], np.int8)
            rows["direction"] = np.where(place >= 0, direction[np.maximum(place, 0)], rows["direction"])
    rows |= _counters_of_tasks(database, key)
    pile = Pile()
    pile.add(rows)
    return pile.columns(("name", "kind", "device", "stream", "_key"))


def _counters_of_tasks(database: Database, key: Array) -> dict[str, Array]:
    """One float column a counter, under the names of the text files."""
    rows = database.read("TASK_PMU_INFO")
    if not {"_key", "name", "value"} <= rows.keys():
        return {}
    made = {}
    for name in np.unique(rows["name"]).tolist():
        mine = rows["name"] == name
        text = database.convert.strings[name]
        place = join(rows["_key"][mine], key)
        values = np.where(place >= 0, rows["value"][mine][np.maximum(place, 0)], np.nan)
        is_time = text.endswith("_time")
        if text:
            made[PMU_NAMES.get(text, f"{text}(us)" if is_time else text)] = values / 1000 if is_time else values
    return made


def _comm(database: Database, task: Columns) -> Columns:
    """Operators with times of their own; their tasks take time, device and stream from TASK."""
    pile = Pile()
    operators, own = database.read("COMMUNICATION_OP"), database.read("COMMUNICATION_TASK_INFO")
    if "start" in operators and "end" in operators:
        devices = np.unique(task["device"]).tolist() if task else []
        count = len(operators["start"])
        operators.setdefault("device", np.full(count, devices[0] if len(devices) == 1 else 0, np.int32))
        pile.add(operators | {"level": np.full(count, OP, np.int8), "part": np.full(count, -1, np.int8)})
    if "_key" in own and "_key" in task:
        place = join(task["_key"], own["_key"])
        known = np.flatnonzero(place >= 0)
        at = place[known]
        own = {n: c[known] for n, c in own.items() if n != "_key"}
        own |= {n: task[n][at] for n in ("start", "end", "device", "stream", "task_id", "correlation") if n in task}
        types = own.get("task_type", np.full(len(known), -1, np.int32))
        own |= {"name": types, "level": np.full(len(known), PART, np.int8)}
        own["part"] = parts(database.convert.strings, types, np.ones(len(known), bool))
        pile.add(own)
    if not len(pile):
        return Columns()
    made = pile.columns(("name", "device", "_op", "group", "part"))
    group = made["group"] if "group" in made else np.full(len(made), -1, np.int32)
    numbers = operators_of(made["device"], group, made["level"], made["start"])
    ids, is_op = made["_op"] if "_op" in made else np.full(len(made), -1, np.int64), made["level"] == OP
    by_id = join(ids[is_op], ids)
    known_op = numbers[is_op]
    if len(known_op):
        numbers = np.where(by_id >= 0, known_op[np.maximum(by_id, 0)], numbers)
    return Columns({n: c for n, c in made.items() if not n.startswith("_")}).with_columns(op=numbers.astype(np.int32))


def _api(database: Database) -> Columns:
    rows = database.read("CANN_API")
    if not {"start", "end", "name"} <= rows.keys():
        return Columns()
    names = {int(r["id"]): r["name"] for r in tables.rows_of("db_enums.csv") if r["table"] == "ENUM_API_TYPE"}
    names |= {k: v for k, v in zip(*database.raw("ENUM_API_TYPE", ("id", "name")), strict=True) if isinstance(k, int)}
    levels = tables.words("level")
    codes = {number: levels.get(str(name).lower(), -1) for number, name in names.items()}
    kind = rows.pop("_type", np.full(len(rows["start"]), -1, np.int64))
    other = events.LEVELS.index("runtime")  # a number no version explains
    rows["level"] = np.array([code if (code := codes.get(int(k), -1)) >= 0 else other for k in kind], np.int8)
    rows |= threads_of(rows)
    pile = Pile()
    pile.add(rows)
    return pile.columns(("name", "thread", "level"))


def threads_of(rows: dict[str, Array]) -> dict[str, Array]:
    """Thread and, when there are several, process of a globalTid: pid << 32 | tid."""
    tid = rows.pop("_tid", None)
    if tid is None:
        return {"thread": np.full(len(rows["start"]), -1, np.int32)}
    pid = tid >> 32
    made = {"thread": (tid & 0x7FFFFFFF).astype(np.int32)}
    return made | ({"pid": pid} if len(np.unique(pid)) > 1 else {})
