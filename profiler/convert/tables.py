"""The tables of Traces as plain columns with decoded texts, for SQL, CSV and Arrow.

Names are made for SQL: times end in _ns, every row with a start has a duration_ns, `group` is group_name, units in brackets
become suffixes. No value is None. Several profiles at one path are told apart by the column `profile`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from npu import events
from profiler.trace import TABLES, Columns, Strings, Trace

# column -> its texts by code; of the same name in several tables only where the table is named too
ENUMS = {
    ("api", "level"): events.LEVELS, ("comm", "level"): events.COMM_LEVELS, ("comm", "part"): events.COMM_PARTS,
    ("task", "kind"): events.KINDS, ("marker", "kind"): events.MARKERS, ("memory", "event"): events.MEMORY_EVENTS,
    ("api", "direction"): events.DIRECTIONS, ("task", "direction"): events.DIRECTIONS,
    ("api", "host_kind"): events.HOST_KINDS, ("task", "host_kind"): events.HOST_KINDS,
}  # fmt: skip
TEXTS = {
    *(
        "name",
        "op_type",
        "task_type",
        "op_state",
        "in_shapes",
        "in_dtypes",
        "in_formats",
        "out_shapes",
        "out_dtypes",
        "out_formats",
    ),
    *("site", "item", "mode", "reads", "writes", "component", "group", "link", "transport", "algorithm", "dtype", "domain"),
    *("stack", "hf32", "origin", "model_name"),
}
TIMES = ("start", "end", "time", "ready")
UNITS = (("(us)", "_us"), ("(%)", "_percent"), ("(GB/s)", "_gb_s"), ("(MB/s)", "_mb_s"), ("(KB)", "_kb"))


def titles(columns: Columns) -> list[tuple[str, str]]:
    """(name of the Trace's column, its name here) in order; duration_ns, which is end minus start, follows end_ns."""
    made = []
    for name in columns:
        made.append((name, sql_name(name)))
        if name == "end":
            made.append(("", "duration_ns"))
    return made


def sql_name(name: str) -> str:
    """A column's name as it is written in SQL, without quotes."""
    if name in TIMES:
        return f"{name}_ns"
    for bracket, suffix in UNITS:
        name = name.replace(bracket, suffix)
    return "group_name" if name == "group" else re.sub(r"\W+", "_", name)


def values(table: str, name: str, columns: Columns, strings: Strings) -> list[object]:
    """One column as Python values: texts, ints, floats, None for no value."""
    if not name:
        return list((columns["end"] - columns["start"]).tolist())
    column = columns[name]
    codes = ENUMS.get((table, name))
    if codes is not None:
        return [codes[c] if 0 <= c < len(codes) else None for c in column.tolist()]
    if name in TEXTS and column.dtype.kind == "i":
        known, which = np.unique(column, return_inverse=True)
        texts = [strings[int(i)] if i >= 0 else None for i in known]
        return [texts[w] for w in which.tolist()]
    if column.dtype.kind == "f":
        return [None if v != v else v for v in column.tolist()]
    if name in TIMES:
        return list(column.tolist())
    return [None if v == -1 else v for v in column.tolist()]


def held(traces: Sequence[Trace]) -> dict[str, list[str]]:
    """Table -> its column names here, for the tables that have rows; columns of any of the traces, in their order."""
    made: dict[str, list[str]] = {}
    for table in TABLES:
        names = dict.fromkeys(title for t in traces if (c := _columns(t, table)) for _, title in titles(c))
        if names:
            made[table] = ["profile", *names]
    return made


def rows(traces: Sequence[Trace], table: str, names: Sequence[str]) -> Iterator[tuple[object, ...]]:
    """The rows of a table over all traces, in the order of `names` (of `held`)."""
    for number, trace in enumerate(traces):
        columns = _columns(trace, table)
        if not columns:
            continue
        known = {title: values(table, name, columns, trace.strings) for name, title in titles(columns)}
        nothing: list[object] = [None] * len(columns)
        known["profile"] = [number] * len(columns)
        yield from zip(*(known.get(name, nothing) for name in names), strict=True)


def _columns(trace: Trace, table: str) -> Columns:
    found: Columns = getattr(trace, table)
    return found
