"""Rows as they come, chunk by chunk -> the columns of a Trace, with a common zero and without rows that cannot be true."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from profiler.read.times import NONE
from profiler.trace import TABLES, Array, Columns, Missing, Trace

FLOATS = np.dtype(np.float64)
WEEK = 7 * 24 * 3600 * 10**9  # ns; a longer row is a broken record (limit of HolisticTraceAnalysis)
YEAR = 365 * 24 * 3600 * 10**9  # ns; a row so far from the middle of its table has a broken time
UNIX = 10**18  # ns: September 2001; earlier times count from something else than 1970
NAMED = 3  # rows named in a remark
SMALL = {n: np.int8 for n in ("level", "kind", "direction", "host_kind", "blocking", "part")} | {
    n: np.int32
    for n in ("device", "stream", "thread", "model", "block_dim", "mix_block_dim", "plane", "src", "dst", "rank", "op", "task_id")
}


class Pile:
    """Rows of one table in pieces. A column that some pieces lack is filled with "no value" there; one without any value is
    left out, for a source that knows nothing of it is not a source that says zero."""

    def __init__(self) -> None:
        self._pieces: list[tuple[int, dict[str, Array]]] = []

    def add(self, columns: Mapping[str, Array]) -> None:
        made = {n: _small(n, c) for n, c in columns.items()}
        if made:
            self._pieces.append((len(next(iter(made.values()))), made))

    def extend(self, other: Pile) -> None:
        """The pieces of another pile behind the own ones."""
        self._pieces += other._pieces

    def __len__(self) -> int:
        return sum(n for n, _ in self._pieces)

    def columns(self, always: tuple[str, ...] = ()) -> Columns:
        """All rows. Columns of `always` stay even when they hold no value."""
        names = dict.fromkeys(name for _, piece in self._pieces for name in piece)
        made = {}
        for name in names:
            dtype = next(piece[name].dtype for _, piece in self._pieces if name in piece)
            column = np.concatenate([piece.pop(name) if name in piece else _nothing(rows, dtype) for rows, piece in self._pieces])
            if name in always or not empty(column):
                made[name] = column
        return Columns(made, len(self))


def _small(name: str, column: Array) -> Array:
    target = SMALL.get(name)
    if target is None or column.dtype == target:
        return column
    if column.dtype.kind not in "iu":
        return column
    limits = np.iinfo(target)
    if len(column) and (column.max() > limits.max or column.min() < limits.min):
        column = np.where((column > limits.max) | (column < limits.min), -1, column)
    return column.astype(target)


def _nothing(rows: int, dtype: np.dtype[Any]) -> Array:
    return np.full(rows, np.nan if dtype.kind == "f" else -1, dtype)


def empty(column: Array) -> bool:
    """True when no row of a column has a value."""
    return bool(np.isnan(column).all()) if column.dtype.kind == "f" else bool((column == -1).all())


def settle(trace: Trace) -> Trace:
    """Drop rows that cannot be true and say so, sort by start, and count times from the earliest when they are unix times."""
    for name in TABLES:
        table: Columns = getattr(trace, name)
        if table:
            setattr(trace, name, _plausible(trace, name, table))
    starts = [_first(getattr(trace, n)) for n in TABLES if getattr(trace, n)]
    zero = min(starts, default=0)
    if zero >= UNIX:
        for name in TABLES:
            table = getattr(trace, name)
            if table:
                setattr(trace, name, table.with_columns(**{n: table[n] - zero for n in ("start", "end", "time") if n in table}))
        trace.meta["unix_zero_ns"] = zero
    return trace


def _first(table: Columns) -> int:
    return int(table["start" if "start" in table else "time"].min())


def _plausible(trace: Trace, name: str, table: Columns) -> Columns:
    point = "start" not in table
    if not point and "end" not in table:
        trace.missing.append(Missing(f"{len(table)} {name} rows", "the file does not hold the times at which they end"))
        return Columns()
    start = table["time" if point else "start"]
    end = start if point else table["end"]
    timeless = (start == NONE) | (end == NONE)
    if not point:
        lost = (start == 0) & (end == 0)
        if lost.any() and (start[~lost & ~timeless] > 0).any() and name != "marker":
            _tell(
                trace,
                name,
                table,
                lost,
                "they carry time 0 and duration 0 (no timestamp): the device record came back incomplete",
            )
            timeless |= lost
            table, start, end, timeless = _without(table, lost), start[~lost], end[~lost], timeless[~lost]
    _tell(trace, name, table, timeless, "they carry no timestamp that can be read")
    backwards = ~timeless & (end < start)
    _tell(trace, name, table, backwards, "implausible: their duration is negative")
    endless = ~timeless & ~backwards & (end - start > WEEK)
    _tell(trace, name, table, endless, "implausible: they last longer than a week, the record is corrupt")
    bad = timeless | backwards | endless
    good = start[~bad]
    if len(good):
        # the middle is taken of starts only: no sum of huge numbers is made
        middle = int(np.partition(good, len(good) // 2)[len(good) // 2])
        far = ~bad & ((start > middle + YEAR) | (start < middle - YEAR))
        _tell(trace, name, table, far, "implausible: their time lies more than a year from all others")
        bad |= far
    kept = _without(table, bad) if bad.any() else table
    key = kept["time" if point else "start"]
    if len(key) > 1 and (key[1:] < key[:-1]).any():
        kept = kept.take(np.lexsort((-kept["end"], key)) if not point else np.argsort(key, kind="stable"))
    return kept


def _without(table: Columns, bad: Array) -> Columns:
    return table.take(np.flatnonzero(~bad))


def _tell(trace: Trace, name: str, table: Columns, bad: Array, why: str) -> None:
    rows = np.flatnonzero(bad)
    if not len(rows):
        return
    names = table.get("name")
    called = [trace.strings[int(names[r])] for r in rows[:NAMED]] if names is not None else []
    shown = ", ".join(dict.fromkeys(n for n in called if n))
    word = {"task": "records" if len(rows) > 1 else "record"}.get(name, "rows" if len(rows) > 1 else "row")
    tail = f": {shown}{' ...' if len(rows) > NAMED else ''}" if shown else ""
    trace.missing.append(Missing(f"{len(rows)} {name} {word}{tail}", why))
