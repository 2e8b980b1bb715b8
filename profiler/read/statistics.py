"""Files of sums (api_statistic, op_statistic, step_trace_time, ...): no rows in time, so they become plain tables.

trace.meta["tables"][name] is a dict of equally long lists by column: times in int ns, shares and other numbers as float, texts as
str; None where the file has no value. Names of the known kinds and their columns stand in data/columns.csv:

api_statistic      level, name, total, count, avg, min, max, variance
op_statistic       op_type, core_type, count, total, min, avg, max, share
step_trace_time    step, computing, communication_not_overlapped, overlapped, communication, free, stage, bubble, preparing
operator_details   name, in_shapes, stack, host_self, host_total, device_self, device_total ...
l2_cache           stream, task_id, hit_rate, victim_rate, name

Files that no table knows keep the name of the file and their own headers.
"""

from __future__ import annotations

import re
from math import isfinite
from typing import Any

from profiler.read.csvfile import Sheet, names_of, spans
from profiler.read.tables import NO_TEXT
from profiler.trace import Trace

Table = dict[str, list[Any]]
STAMP = re.compile(r"(_slice_\d+)?(_\d+)*$")


def table_of(trace: Trace, name: str) -> Table:
    """The table of a name, made when it is new."""
    tables: dict[str, Table] = trace.meta.setdefault("tables", {})
    return tables.setdefault(name, {})


def read(trace: Trace, sheet: Sheet) -> None:
    """Add a file to the tables of a trace; further files of one kind (slices, devices) are appended."""
    name = sheet.kind or STAMP.sub("", sheet.path.stem)
    known = names_of(sheet.kind)
    for block in sheet.blocks():
        made: Table = {}
        for header, values in block.items():
            column, how = known.get(header, (header, ""))
            made[column] = _values(how, values)
        append(table_of(trace, name), made)
    trace.missing += sheet.problems


def append(table: Table, more: Table) -> None:
    """Rows to a table; a column that one of both lacks has None there."""
    before = len(next(iter(table.values()), []))
    rows = len(next(iter(more.values()), []))
    for column in [*table, *(c for c in more if c not in table)]:
        table.setdefault(column, [None] * before).extend(more.get(column, [None] * rows))


def _values(how: str, texts: list[str]) -> list[Any]:
    if how == "span":
        return [None if v == -1 and t.strip() in NO_TEXT else v for v, t in zip(spans(texts).tolist(), texts, strict=True)]
    if how == "text":
        return [None if t.strip() in NO_TEXT else t for t in texts]
    found = [_number(t.strip()) for t in texts]
    if how == "int":  # a column of counts or ids: what is no whole number there is no value
        return [n if isinstance(n, int) else None for n in found]
    return [n if isinstance(n, int) or (isinstance(n, float) and isfinite(n)) else None for n in found] if how else found


def _number(text: str) -> Any:
    """A number where the text is one; None for no value; else the text."""
    if text in NO_TEXT:
        return None
    try:
        number = float(text)
    except ValueError:
        return text
    return int(number) if number.is_integer() and abs(number) < 1 << 53 else number
