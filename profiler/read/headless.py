"""Tables whose first line, the names of the columns, was cut off: the usual order of a file of that
name, where the values fit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from profiler.read import tables
from profiler.read.tables import NO_TEXT

NUMBERS = ("int", "time", "span", "float", "mb", "kb")
NUMBER = re.compile(r"-?[0-9.]+([eE][+-]?[0-9]+)?")


@cache
def _usual() -> list[tuple[str, list[str]]]:
    return [(r["stem"], r["header"].split("|")) for r in tables.rows_of("headers.csv")]


@cache
def _conversions() -> dict[str, str]:
    """Header -> how its values are read, of all kinds of files."""
    return {r["header"]: r["convert"] for r in tables.rows_of("columns.csv")}


def usual(stem: str, first: Sequence[str]) -> list[str]:
    """The header a file of that name has, if its first line is a row of such a table; [] else. Columns behind the usual ones
    (counters: their set depends on switches) have no name."""
    for name, header in _usual():
        if stem.startswith(name) and _fits(header, first):
            return header + [""] * (len(first) - len(header))
    return []


def _fits(header: Sequence[str], first: Sequence[str]) -> bool:
    """Every column of numbers holds a number or no value, some of them a number, and some column of texts a text."""
    if len(first) < len(header):
        return False
    how = [_conversions().get(h, "") for h in header]
    values = [v.strip() for v in first]
    numbers = [v for h, v in zip(how, values, strict=False) if h in NUMBERS or h == "skip"]
    names = [v for h, v in zip(how, values, strict=False) if h == "text" and v not in NO_TEXT]
    held = [v for v in numbers if v not in NO_TEXT]
    return bool(held) and all(NUMBER.fullmatch(v) for v in held) and any(not NUMBER.fullmatch(v) for v in names or ["x"])
