"""A CSV file of any version -> named columns of raw texts, in blocks; what kind of file it is follows from its headers.

Short rows are filled up, but for a cut last one; rows with more fields than the header are left out. All are counted.
"""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from profiler.read import headless, tables, times
from profiler.read.tables import Converter
from profiler.trace import Array, Missing, Unreadable

BLOCK = 2_000  # rows turned at once: they fit into the caches, and the collector of garbage stays away
DECIMAL = re.compile(r"(\s*-?)(\d+|\d{1,3}(?:\.\d{3})+),(\d+\s*)")  # 1234,5 and 1.234,5
THOUSANDS = re.compile(r"\s*-?\d{1,3}(?:,\d{3})+(?:\.\d*)?\s*")  # 1,234.5
ROUNDED = re.compile(r"\s*\d\.?\d{0,8}[eE]\+")  # 1.79E+15
MOST_FIELD = 16 << 20  # characters of one field: call stacks are long
NUMERIC = ("time", "span", "float", "int")
UNITS = {"kb": 1024, "mb": 1024 * 1024}


class Sheet:
    """An opened CSV file: its header, its kind, its blocks."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problems: list[Missing] = []
        csv.field_size_limit(MOST_FIELD)
        try:
            if path.stat().st_size == 0:
                raise Unreadable(f"{path.name} is empty (0 bytes)", "the export was cut short: export the profile again")
            with path.open("rb") as stream:
                head = stream.read(64 << 10)
        except OSError as error:
            raise Unreadable(f"{path} cannot be read: {error.strerror or error}", "check the file and its rights") from error
        self._encoding = "utf-16" if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"
        first = next(iter(head.decode(self._encoding, "replace").splitlines()), "")
        self._comma = max(",;\t", key=first.count)
        self.header = [h.strip().strip('"') for h in next(csv.reader([first], delimiter=self._comma), [])]
        self.kind = kind_of(self.header)
        self._headless = False
        if not self.kind and (usual := headless.usual(path.stem, self.header)):
            self.header, self.kind, self._headless = usual, kind_of(usual), True
            self.problems.append(Missing(f"the header of {path.name}", "its columns are taken in their usual order"))

    def blocks(self) -> Iterator[dict[str, list[str]]]:
        """Raw columns by header, some thousand rows at a time; of two columns with one name the first counts."""
        short = wrong = held = 0
        width = len(self.header)
        rows: list[list[str]] = []
        pending: list[
            str
        ] = []  # a short row: it counts once another follows, for the last one of a cut file ends in a half value
        with self.path.open(encoding=self._encoding, errors="replace", newline="") as stream:
            reader = csv.reader(stream, delimiter=self._comma)
            try:
                if not self._headless:
                    next(reader, None)
                for row in reader:
                    held += 1
                    if pending and row:
                        rows.append(pending + [""] * (width - len(pending)))
                        pending = []
                        short += 1
                    if len(row) == width:
                        rows.append(row)
                        if len(rows) >= BLOCK:
                            yield self._turned(rows)
                            rows = []
                    elif any(row):
                        if len(row) < width:
                            pending = row
                        else:
                            wrong += 1
            except (csv.Error, UnicodeError) as error:
                self.problems.append(Missing(f"the rest of {self.path.name}", f"line {reader.line_num} is damaged ({error})"))
        if rows:
            yield self._turned(rows)
        name = self.path.name
        if not held:
            self.problems.append(Missing(f"all rows of {name}", "nothing stands below its header"))
        if pending:
            self.problems.append(Missing(f"the last row of {name}", "the file is truncated there"))
        if short:
            self.problems.append(
                Missing(f"the last fields of {short} rows of {name}", "the rows have fewer fields than the header")
            )
        if wrong:
            self.problems.append(
                Missing(f"{wrong} rows of {name}", "more fields than the header: a text with commas was not quoted")
            )

    def _turned(self, rows: list[list[str]]) -> dict[str, list[str]]:
        made: dict[str, list[str]] = {}
        for name, column in zip(self.header, zip(*rows, strict=True), strict=True):
            made.setdefault(name, list(column))
        for name in made:
            if self._numeric(name) and any("," in value for value in made[name]):
                made[name] = [_plain(value, self._comma) for value in made[name]]
        return made

    def _numeric(self, header: str) -> bool:
        how = names_of(self.kind).get(header, ("", "float" if self.kind == "kernels" else ""))[1]
        return how in NUMERIC or how in UNITS


def _plain(value: str, comma: str) -> str:
    """A number as programs for tables write it, as Python reads it. Where fields end with semicolons, commas are decimal."""
    if comma == ";":
        found = DECIMAL.fullmatch(value)
        return f"{found[1]}{found[2].replace('.', '')}.{found[3]}" if found else value
    return value.replace(",", "") if THOUSANDS.fullmatch(value) else value


@cache
def _signs() -> list[tuple[str, list[frozenset[str]]]]:
    """(kind, sets of headers of which one must be present as a whole), in order."""
    return [
        (r["file"], [frozenset(s.split("+")) for s in r["headers"].split("|")])
        for r in tables.rows_of("files.csv")
        if r["kind"] == "csv"
    ]


def kind_of(header: Sequence[str]) -> str:
    """The kind of a file by its headers; "" for one that no reader knows."""
    held = set(header)
    return next((kind for kind, signs in _signs() if any(s <= held for s in signs)), "")


@cache
def names_of(kind: str) -> dict[str, tuple[str, str]]:
    """Header -> (column, conversion) of a kind of file; the conversion "skip" is for what follows from other columns."""
    return {r["header"]: (r["column"], r["convert"]) for r in tables.rows_of("columns.csv") if r["file"] == kind}


def converted(kind: str, block: Mapping[str, list[str]], convert: Converter) -> dict[str, Array]:
    """The known columns of a block. Times and spans in ns, sizes in bytes; headers that no table names but that hold numbers
    (counters: their set depends on switches and chip) stay under their own names as float64, where the kind is kernels."""
    known = names_of(kind)
    made: dict[str, Array] = {}
    for header, values in block.items():
        column, how = known.get(header, ("", ""))
        if how == "skip":
            continue
        if how:
            found = of_texts(how, values, convert)
            made[column] = found if column not in made else np.where(made[column] < 0, found, made[column])
        elif kind == "kernels" and header:
            numbers = tables.floats(values)
            if not np.isnan(numbers).all():
                made[header] = numbers
    return made


def rounded(kind: str, block: Mapping[str, list[str]]) -> bool:
    """Whether times of a block are written with an exponent and few digits: those that order them are gone."""
    known = names_of(kind)
    return any(ROUNDED.match(values[0] if values else "") for h, values in block.items() if known.get(h, ("", ""))[1] == "time")


def of_texts(how: str, values: list[str], convert: Converter) -> Array:
    if how == "time":
        return times.nanoseconds(values)
    if how == "span":
        return spans(values)
    if how == "shapes":
        return convert.texts([v.replace('"', "") for v in values])
    if how == "npu":  # NPU:0
        return tables.integers([v.rpartition(":")[2] for v in values])
    if how in UNITS:
        numbers = tables.floats(values)
        # a size below zero means that only the free was seen
        with np.errstate(invalid="ignore"):
            return np.where(np.isfinite(numbers), np.rint(np.clip(numbers, -1e12, 1e12) * UNITS[how]), -1).astype(np.int64)
    return convert(how, values)


def spans(values: Sequence[Any]) -> Array:
    """Durations in ns; -1 for no value."""
    made = times.durations([v if v not in tables.NO_TEXT else "nan" for v in values]) if len(values) else np.zeros(0, np.int64)
    return np.where(made == times.NONE, -1, made)
