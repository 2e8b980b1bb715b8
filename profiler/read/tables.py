"""The data files of the readers: names over versions, and what texts mean. Nothing here knows a layout."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from npu import events
from profiler.trace import Strings

ENUMS: dict[str, tuple[str, ...]] = {
    "level": events.LEVELS,
    "direction": events.DIRECTIONS,
    "host_kind": events.HOST_KINDS,
    "part": events.COMM_PARTS,
    "memory": events.MEMORY_EVENTS,
}
# How files write "no value": numbers of all ones, and texts.
NO_NUMBER = frozenset((4294967295, 18446744073709551615, 65535 << 48))
NO_TEXT = frozenset(("", "N/A", "NA", "n/a", "null", "None", "INVALID_TYPE"))
MOST_ID = 1 << 62
NAN = float("nan")


@cache
def rows_of(table: str) -> list[dict[str, str]]:
    """The rows of a data file of this package."""
    text = resources.files("profiler.read").joinpath("data", table).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


@cache
def patterns(table: str, by: str, gives: str) -> list[tuple[re.Pattern[str], str]]:
    """(pattern, value) of the rows of a table that ask for one property, in order."""
    return [(re.compile(r["pattern"]), r[gives]) for r in rows_of(table) if r["by"] == by]


def first_match(table: str, by: str, gives: str, text: str) -> str:
    """What the first row says whose pattern is the whole text; "" when none is."""
    return next((value for pattern, value in patterns(table, by, gives) if pattern.fullmatch(text)), "")


@cache
def words(enum: str) -> dict[str, int]:
    """Text (lower case) -> code of an enum of npu.events."""
    return {r["text"].lower(): ENUMS[enum].index(r["value"]) for r in rows_of("words.csv") if r["enum"] == enum}


@cache
def task_types() -> dict[str, tuple[int, int]]:
    """Task type as any file writes it -> (kind, direction or -1)."""
    return {
        r["text"]: (events.KINDS.index(r["kind"]), events.DIRECTIONS.index(r["direction"]) if r["direction"] else -1)
        for r in rows_of("task_types.csv")
    }


class Ids:
    """Connection ids as numbers: small ones stay what they are, texts and numbers beyond int64 get one of their own. An id
    is a name and not a quantity: some writers use ids above 2**64."""

    def __init__(self) -> None:
        self._others: dict[Any, int] = {}

    def __call__(self, value: Any) -> int:
        if type(value) is str:
            if value.isascii() and value.isdigit() and len(value) < 19:
                value = int(value)
            elif value in NO_TEXT:
                return -1
        if type(value) is int:
            if 0 <= value < MOST_ID:
                return -1 if value in NO_NUMBER else value
            if value < 0:
                return -1
        if value is None or (isinstance(value, float | int) and value in NO_NUMBER):
            return -1
        key = str(value)
        return self._others.setdefault(key, MOST_ID + len(self._others))


class Converter:
    """Lists of raw values of one file -> columns; texts go into its Strings."""

    def __init__(self, strings: Strings) -> None:
        self.strings = strings
        self.ids = Ids()

    def __call__(self, how: str, values: Sequence[Any]) -> NDArray[Any]:
        """how: int, id, text, float, or the name of an enum. No value is -1, for floats NaN."""
        if how == "int":
            return integers(values)
        if how == "id":
            if set(map(type, values)) == {int} and max(values) < 4294967295 and min(values) >= 0:
                return np.array(values, np.int64)
            return np.fromiter((self.ids(v) for v in values), np.int64, len(values))
        if how == "text":
            return self.texts(values)
        if how == "float":
            return floats(values)
        known = words(how)
        return np.fromiter((known.get(str(v).strip().lower(), -1) for v in values), np.int8, len(values))

    def texts(self, values: Sequence[Any]) -> NDArray[np.int32]:
        """Ids of texts; -1 for no value and for the ways to write "no value"."""
        made = {v: self._text(v) for v in _distinct(values)}
        try:
            return np.fromiter(map(made.__getitem__, values), np.int32, len(values))
        except (TypeError, KeyError):  # lists and objects where texts should be
            return np.fromiter((self._text(v) for v in values), np.int32, len(values))

    def _text(self, value: Any) -> int:
        text = value.strip("\t ") if isinstance(value, str) else "" if value is None else str(value)
        return -1 if text in NO_TEXT else self.strings.id(text)


def _distinct(values: Sequence[Any]) -> Sequence[Any]:
    try:
        return list(dict.fromkeys(values))
    except TypeError:
        return []


def integers(values: Sequence[Any]) -> NDArray[np.int64]:
    """Whole numbers, also as text; -1 for no value, numbers of all ones and what does not fit."""
    try:
        types = set(map(type, values))
        if types <= {int, str}:
            made = np.fromiter(values if types == {int} else map(int, values), np.int64, len(values))
            made[made == 4294967295] = -1
            return made
    except (ValueError, OverflowError):
        pass
    known = {v: _integer(v) for v in _distinct(values)}
    return np.fromiter((known[v] if known else _integer(v) for v in values), np.int64, len(values))


def _integer(value: Any) -> int:
    if isinstance(value, str):
        text = value.strip()
        try:
            value = int(text) if text.lstrip("-").isdigit() else float(text)
        except ValueError:
            return -1
    if isinstance(value, float):
        if not np.isfinite(value):
            return -1
        value = int(value)
    if not isinstance(value, int) or value in NO_NUMBER or not -(1 << 63) <= value < 1 << 63:
        return -1
    return int(value)


def floats(values: Sequence[Any]) -> NDArray[np.float64]:
    """Numbers, also as text; NaN for no value."""
    try:
        return np.fromiter(map(float, values), np.float64, len(values))
    except (TypeError, ValueError, OverflowError):
        pass
    try:
        return np.fromiter((NAN if v in NO_TEXT else float(v) for v in values), np.float64, len(values))
    except (TypeError, ValueError, OverflowError):
        return np.fromiter((_float(v) for v in values), np.float64, len(values))


def _float(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return NAN
