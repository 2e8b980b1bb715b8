"""communication.json, communication_matrix.json, their cluster forms and analysis.db -> plain tables, and collectives as rows.

trace.meta["tables"] (see profiler.read.statistics):
communication            step, type (p2p, collective), name, group, [rank,] start (unix ns), elapse, transit, wait,
                         synchronization, idle: ns. These look at one plane only
communication_bandwidth  step, type, name, group, [rank,] transport, bytes, time (ns), bandwidth (GB/s), large_packet_ratio
communication_matrix     step, type, name, group, src, dst, transport, bytes, time (ns), bandwidth (GB/s), op_name
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from npu import events
from profiler.read import tables
from profiler.read.database import Database
from profiler.read.statistics import append, table_of
from profiler.read.tables import Converter
from profiler.trace import Columns, Missing, Trace, Unreadable

TIME = ("start", "elapse", "transit", "wait", "synchronization", "idle")
BANDWIDTH = ("bytes", "time", "bandwidth", "large_packet_ratio")
MATRIX = ("transport", "bytes", "time", "bandwidth", "op_name")
SUMS = ("Total Op Info", "Total HCCL Operators", "total_op_info")  # rows that add up others
KINDS = ("p2p", "collective")
DB = {
    "CommAnalyzerTime": ("communication", TIME),
    "CommAnalyzerBandwidth": ("communication_bandwidth", ("transport", *BANDWIDTH)),
    "CommAnalyzerMatrix": ("communication_matrix", MATRIX),
}
MOST_VALUE = 1e300  # no number of a measurement
MOST_FILE = 512 << 20  # bytes; such files hold sums


def load(path: Path) -> Any:
    """The value of a JSON file of sums. Unreadable when it is empty, cut or no JSON."""
    try:
        if path.stat().st_size > MOST_FILE:
            raise Unreadable(
                f"{path.name} is larger than {MOST_FILE >> 20} MiB", "such a file holds sums: this one is something else"
            )
        text = path.read_bytes()
    except OSError as error:
        raise Unreadable(f"{path} cannot be read: {error.strerror or error}", "check the file and its rights") from error
    if not text.strip():
        raise Unreadable(f"{path.name} is empty ({len(text)} bytes)", "the export was cut short: export the profile again")
    try:
        return json.loads(text.decode("utf-8-sig", "replace"), strict=False)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"{path.name} is no whole JSON ({error})", "the file is cut or damaged: export it again") from error


def kind_of(value: Any) -> str:
    """communication, communication_matrix, or "" for any other JSON."""
    for _, _, _, body in _operators(value):
        if not isinstance(body, dict):
            continue
        for inner in [body] if "Communication Time Info" in body else [v for v in body.values() if isinstance(v, dict)]:
            if "Communication Time Info" in inner:
                return "communication"
            if "Transport Type" in inner or "Bandwidth(GB/s)" in inner:
                return "communication_matrix"
    return ""


def _operators(value: Any) -> Iterator[tuple[str, str, str, Any]]:
    """(step, type, operator@group, body): {step: {type: {op: ..}}}, in cluster files {type: {step: {op: ..}}}; steps of old files
    are called "step"."""
    if not isinstance(value, dict):
        return
    for outer, middle in value.items():
        for inner, operators in middle.items() if isinstance(middle, dict) else ():
            step, kind = (inner, outer) if outer in KINDS else (outer, inner)
            for name, body in operators.items() if isinstance(operators, dict) else ():
                if kind in KINDS and name not in SUMS and not name.startswith("Total"):
                    yield str(step), str(kind), str(name), body


def step_number(text: str) -> int | None:
    """step50 -> 50; None for "step"."""
    digits = "".join(c for c in text if c.isdigit())
    return int(digits) if digits and len(digits) < 18 else None


def read_json(trace: Trace, path: Path) -> None:
    """Add one of the files to the tables of a trace."""
    value = load(path)
    kind = kind_of(value)
    if not kind and isinstance(value, dict) and not list(_operators(value)):
        return  # a run without communication
    for step, type_, title, body in _operators(value):
        name, _, group = title.rpartition("@") if "@" in title else (title, "", "")
        head: dict[str, list[Any]] = {"step": [step_number(step)], "type": [type_], "name": [name], "group": [group or None]}
        if not isinstance(body, dict):
            continue
        if kind == "communication_matrix":
            for pair, facts in body.items():
                ends = [int(e) if e.isdigit() and len(e) < 10 else None for e in str(pair).split("-")]
                if len(ends) == 2 and isinstance(facts, dict):
                    append(table_of(trace, kind), head | {"src": ends[:1], "dst": ends[1:]} | _facts(facts, MATRIX))
            continue
        ranks = [(None, body)] if "Communication Time Info" in body else [(r, b) for r, b in body.items() if isinstance(b, dict)]
        for rank, facts in ranks:
            here: dict[str, list[Any]] = head | ({"rank": [step_number(str(rank))]} if rank is not None else {})
            time, bandwidth = facts.get("Communication Time Info"), facts.get("Communication Bandwidth Info")
            if isinstance(time, dict):
                append(table_of(trace, "communication"), here | _facts(time, TIME))
            for transport, sums in bandwidth.items() if isinstance(bandwidth, dict) else ():
                if isinstance(sums, dict) and sums.get("Transit Size(MB)"):
                    append(
                        table_of(trace, "communication_bandwidth"), here | {"transport": [transport]} | _facts(sums, BANDWIDTH)
                    )


def _facts(source: dict[str, Any], columns: tuple[str, ...], by: str = "key") -> dict[str, list[Any]]:
    return {
        r["column"]: [_scaled(source.get(r[by]), r["scale"])]
        for r in tables.rows_of("communication.csv")
        if r["column"] in columns
    }


def _scaled(value: Any, scale: str) -> Any:
    """Times in ns and sizes in bytes are whole numbers; ratios and rates stay what they are."""
    if not scale:
        return value if isinstance(value, str) else None
    if not isinstance(value, int | float) or not abs(value) < MOST_VALUE:  # NaN too
        return None
    return value if scale == "1" else round(value * int(scale))


def read_database(trace: Trace, path: Path, convert: Converter) -> None:
    """analysis.db and cluster_analysis.db: the same tables; step times too."""
    database = Database(path, convert)
    try:
        for table, (name, columns) in DB.items():
            held = database.columns_of(table)
            if not held:
                continue
            raw = dict(zip(held, database.raw(table, held), strict=True))
            rows = len(next(iter(raw.values())))
            made: dict[str, list[Any]] = {
                "step": [step_number(str(s)) for s in raw.get("step", [])],
                "type": list(raw.get("type", [])),
                "name": list(raw.get("hccl_op_name", [])),
                "group": list(raw.get("group_name", [])),
            }
            if name == "communication_matrix":
                made |= {n: [step_number(str(v)) for v in raw.get(f"{n}_rank", [])] for n in ("src", "dst")}
            for row in tables.rows_of("communication.csv"):
                if row["column"] in columns and row["db"] in raw:
                    made[row["column"]] = [_scaled(v, row["scale"]) for v in raw[row["db"]]]
            if rows and all(len(c) == rows for c in made.values()):
                append(table_of(trace, name), made)
        _steps(trace, database)
        trace.missing += database.problems
    finally:
        database.close()


def _steps(trace: Trace, database: Database) -> None:
    held = database.columns_of("StepTraceTime") or database.columns_of("ClusterStepTraceTime")
    if not held:
        return
    table = "StepTraceTime" if "StepTraceTime" in database.tables else "ClusterStepTraceTime"
    raw = dict(zip(held, database.raw(table, held), strict=True))
    names = {"deviceId": "device"}
    made: dict[str, list[Any]] = {}
    for column, values in raw.items():
        if column == "step":
            made["step"] = [step_number(str(v)) for v in values]
        elif column in ("deviceId", "type", "index", "rank"):
            made[names.get(column, column)] = list(values)
        else:
            made[column] = [_scaled(v, "1000") for v in values]
    append(table_of(trace, "step_trace_time"), made)


def rows_of(trace: Trace) -> None:
    """Collectives as comm rows where no other file gave any: start and length as the sums say them (start to 0.25 us). Rows of a
    timeline take the name of their group from the sums: it is the same on all ranks, the timeline only counts groups."""
    table = trace.meta.get("tables", {}).get("communication")
    if not table or "rank" in table or not {"name", "group", "start", "elapse"} <= table.keys():
        return
    if trace.comm:
        _name_groups(trace, dict(zip(table["name"], table["group"], strict=True)))
        return
    keep = [n for n, (s, e) in enumerate(zip(table["start"], table["elapse"], strict=True)) if s is not None and e is not None]
    if not keep:
        return
    start = np.array([min(max(table["start"][n], 0), 1 << 62) for n in keep], np.int64)
    length = np.array([min(max(table["elapse"][n], -1), 1 << 61) for n in keep], np.int64)
    strings = trace.strings
    trace.comm = Columns(
        {
            "start": start,
            "end": start + length,
            "device": np.full(len(keep), trace.meta.get("device", 0), np.int32),
            "level": np.full(len(keep), events.COMM_LEVELS.index("op"), np.int8),
            "part": np.full(len(keep), -1, np.int8),
            "name": strings.ids(table["name"][n] for n in keep),
            "group": np.array([strings.id(g) if (g := table["group"][n]) else -1 for n in keep], np.int32),
            "op": np.arange(len(keep), dtype=np.int32),
        }
    )
    trace.missing.append(Missing("the tasks inside collectives", "only their sums (communication.json) are there"))


def _name_groups(trace: Trace, groups: dict[str, str | None]) -> None:
    comm, strings = trace.comm, trace.strings
    known = {strings.find(n): strings.id(g) for n, g in groups.items() if g and strings.find(n) >= 0}
    group = comm["group"].copy() if "group" in comm else np.full(len(comm), -1, np.int32)
    is_op = comm["level"] == events.COMM_LEVELS.index("op")
    # by name for operators; the other rows of a counted group follow its operators
    counted: dict[int, int] = {}
    for row in np.flatnonzero(is_op).tolist():
        found = known.get(int(comm["name"][row]))
        if found is not None:
            counted.setdefault(int(group[row]), found)
            group[row] = found
    for old, new in counted.items():
        if old >= 0:
            group[(group == old) & ~is_op] = new
    trace.comm = comm.with_columns(group=group)
