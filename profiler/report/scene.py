"""Traces -> what the page knows: a small plain record (facts) and the packed columns the facts point into.

Every time in the page counts from `base`, the earliest time of all parts, so that a number in JavaScript (a double, exact
to 2**53) holds it to the nanosecond even when the trace counts from 1970.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from npu import events
from profiler.report.category import categories
from profiler.report.lanes import Curve, Lane, curves_of, lanes_of
from profiler.report.pack import Pack
from profiler.report.words import say
from profiler.trace import Array, Columns, Strings, Trace

TABLES = ("api", "task", "comm", "marker")
# Columns that are texts, and those that are codes of a small enumeration.
TEXTS = {column.name for columns in events.TABLES.values() for column in columns if column.text}
ENUMS = {"level": events.LEVELS, "direction": events.DIRECTIONS, "host_kind": events.HOST_KINDS, "part": events.COMM_PARTS}
ENUMS_OF = {("task", "kind"): events.KINDS, ("marker", "kind"): events.MARKERS, ("comm", "level"): events.COMM_LEVELS}
DRAWN = frozenset(("start", "end", "name", "ok"))  # in the bars already
# Above so many rows a table carries no counters and no buffer lists: they are different in every row and would make the
# page of 1,000,000 tasks heavier than 20 MB. The page says so.
FULL_ROWS = 200_000


class Clock:
    """Times of every part on one axis: parts whose unix zero is known are shifted against the first."""

    def __init__(self, parts: list[Trace]) -> None:
        self._zero = parts[0].meta.get("unix_zero_ns")
        self.base = min((b for b in map(self._earliest, parts) if b is not None), default=0)

    def shift(self, part: Trace) -> int:
        zero = part.meta.get("unix_zero_ns")
        return int(zero) - int(self._zero) if isinstance(zero, int) and isinstance(self._zero, int) else 0

    def relative(self, part: Trace, times: Array) -> Array:
        return times + (self.shift(part) - self.base)

    def _earliest(self, part: Trace) -> int | None:
        starts = [int(t["start"].min()) for t in (part.api, part.task, part.comm, part.marker) if t]
        starts += [int(t["time"].min()) for t in (part.memory, part.counter) if t]
        return min(starts) + self.shift(part) if starts else None


def scene(
    trace: Trace, window: tuple[int, int] | None = None, path: Sequence[tuple[str, int]] = (), lang: str = "en"
) -> tuple[dict[str, Any], str]:
    """(facts, packed columns in base64) of a trace and its parts. window: what to show first, ns of the trace; else all.

    path: (table, row) of the critical path in its order, rows of the trace itself.
    """
    parts = [trace, *trace.parts]
    clock, pack, names = Clock(parts), Pack(), Strings()
    bars: dict[str, list[Array]] = {n: [] for n in ("start", "duration", "name", "category", "row")}
    lanes, curves, tables, left_out = [], [], [], []
    at, latest = 0, 0
    for number, part in enumerate(parts):
        title = part_title(part, number, lang) if len(parts) > 1 else ""
        category = {t: categories(t, getattr(part, t), part.strings, names, lang) for t in TABLES}
        name = {t: _names(getattr(part, t), part.strings, names) for t in TABLES}
        for lane in lanes_of(part, title, lang):
            rows: Columns = getattr(part, lane.table)
            start = clock.relative(part, rows["start"][lane.rows])
            length = np.maximum(rows["end"][lane.rows] - rows["start"][lane.rows], 0)
            bars["start"].append(_steps(start, lane))
            bars["duration"].append(length)
            bars["name"].append(name[lane.table][lane.rows])
            bars["category"].append(category[lane.table][lane.rows])
            bars["row"].append(lane.rows)
            lanes.append(_lane_facts(lane, number, at))
            at += len(lane.rows)
            latest = max(latest, int((start + length).max(initial=0)))
        for curve in curves_of(part, title, lang):
            curves.append(_curve_facts(curve, pack, clock.relative(part, curve.time)))
            latest = max(latest, int(clock.relative(part, curve.time).max(initial=0)))
        for table in TABLES:
            if getattr(part, table):
                columns, missing = _details(table, getattr(part, table), part.strings, names, pack)
                tables.append({"part": number, "table": table, "rows": len(getattr(part, table)), "columns": columns})
                left_out += missing
    facts = {
        "base": clock.base,
        "latest": latest,
        "bars": at,
        "lanes": lanes,
        "curves": curves,
        "tables": tables,
        "window": [0, latest] if window is None or window[1] <= window[0] else [t - clock.base for t in window],
        "columns": {n: pack.ints(np.concatenate(c) if c else np.zeros(0, np.int64)) for n, c in bars.items()},
        "leftOut": sorted(set(left_out)),
        "parts": [part_title(p, n, lang) for n, p in enumerate(parts)],
    }
    if path:
        facts["path"] = {
            "tables": list(TABLES),
            "table": pack.ints(np.array([TABLES.index(t) for t, _ in path])),
            "row": pack.ints(np.array([row for _, row in path])),
        }
    facts["names"] = pack.text(as_json(names.texts))
    return facts, pack.base64()


def as_json(value: object) -> str:
    """JSON that may stand in a script element: nothing in it can end the element or open a comment."""
    import json

    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def part_title(part: Trace, number: int, lang: str = "en") -> str:
    """Rank 3; else Process 4711; else the place in the list."""
    ranks, pid = part.meta.get("ranks"), part.meta.get("pid")
    if isinstance(ranks, (list, tuple)) and len(ranks) == 1:
        return say("part.rank", lang, rank=ranks[0])
    return say("part.process", lang, number=number + 1 if pid is None else pid)


def _names(rows: Columns, strings: Strings, names: Strings) -> Array:
    """Ids of the page's names for the rows' names."""
    return _translated(rows["name"], strings, names) if rows else np.zeros(0, np.int64)


def _translated(ids: Array, strings: Strings, names: Strings) -> Array:
    found, where = np.unique(ids, return_inverse=True)
    return np.array([names.id(strings[int(i)]) for i in found], np.int64)[where]


def _steps(start: Array, lane: Lane) -> Array:
    """Starts as steps from bar to bar within a depth (the first of a depth stays whole): small numbers, few byte planes."""
    steps = np.diff(start, prepend=0)
    for first in lane.first:
        if first < len(start):
            steps[first] = start[first]
    return steps


def _lane_facts(lane: Lane, part: int, at: int) -> dict[str, Any]:
    return {
        "group": lane.group,
        "title": lane.title,
        "table": lane.table,
        "part": part,
        "repeated": lane.repeated,
        "folded": lane.folded,
        "depths": [at + f for f in lane.first] + [at + len(lane.rows)],
    }


def _curve_facts(curve: Curve, pack: Pack, time: Array) -> dict[str, Any]:
    columns = pack.ints if curve.unit == "B" else pack.reals
    return {
        "group": curve.group,
        "title": curve.title,
        "unit": curve.unit,
        "time": pack.ints(np.diff(time, prepend=0)),
        "values": {n: columns(v) for n, v in curve.values.items()},
    }


def _details(table: str, rows: Columns, strings: Strings, names: Strings, pack: Pack) -> tuple[dict[str, Any], list[str]]:
    """Every column a click can ask for, in row order, and which ones were left out."""
    made: dict[str, Any] = {}
    left_out = []
    for column, values in rows.items():
        if column in DRAWN:
            continue
        real = values.dtype.kind == "f"
        if len(rows) > FULL_ROWS and (real or column in ("reads", "writes", "stack")):
            left_out.append(f"{table}: {column}")
        elif column in TEXTS and not real:
            if (values >= 0).any():
                made[column] = {"kind": "text", **pack.ints(_translated(values, strings, names))}
        elif real:
            if np.isfinite(values).any():
                made[column] = {"kind": "number", **pack.reals(values)}
        elif (values >= 0).any():
            enum = ENUMS_OF.get((table, column)) or ENUMS.get(column)
            form = {"kind": "code", "texts": list(enum)} if enum else {"kind": "number"}
            made[column] = {**form, **pack.ints(values)}
    return made, left_out
