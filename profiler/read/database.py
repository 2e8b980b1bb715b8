"""An SQLite file of the profilers as a source of columns: tables and columns that a version lacks are simply not there."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from profiler.read import tables, times
from profiler.read.tables import Converter
from profiler.trace import Array, Missing, Unreadable

MAGIC = b"SQLite format 3\x00"
BLOCK = 200_000  # rows fetched at once


def is_database(path: Path) -> bool:
    """Whether a file is a SQLite database, by its first bytes."""
    try:
        with path.open("rb") as stream:
            return stream.read(16) == MAGIC
    except OSError:
        return False


class Database:
    """A file opened read-only. `problems` lists tables that could not be read."""

    def __init__(self, path: Path, convert: Converter) -> None:
        self.path, self.convert = path, convert
        self.problems: list[Missing] = []
        try:
            if path.stat().st_size == 0:
                raise Unreadable(f"{path.name} is empty (0 bytes)", "the export was cut short: export the profile again")
            # immutable: the folder may be read-only and no journal of another program is touched
            self._connection = sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode=ro&immutable=1", uri=True)
            self._connection.text_factory = lambda data: data.decode("utf-8", "replace")
            self.tables = {str(n) for (n,) in self._connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # sqlite quotes damaged text in its messages
            raise Unreadable(
                f"{path.name} is no readable database ({error})", "the file is damaged or cut: export it again"
            ) from error
        except OSError as error:
            raise Unreadable(f"{path} cannot be read: {error.strerror or error}", "check the file and its rights") from error
        self._texts: dict[Any, int] | None = None

    def close(self) -> None:
        self._connection.close()

    def columns_of(self, table: str) -> list[str]:
        """Names of the columns of a table; [] when it is not there."""
        if table not in self.tables:
            return []
        try:
            return [str(row[1]) for row in self._connection.execute(f'PRAGMA table_info("{table}")')]
        except (sqlite3.Error, UnicodeDecodeError) as error:
            self.tables.discard(table)
            self.problems.append(Missing(f"table {table} of {self.path.name}", str(error)))
            return []

    def raw(self, table: str, names: Sequence[str]) -> list[list[Any]]:
        """Columns of a table as lists of what SQLite holds; empty when the table is not there or is damaged."""
        if table not in self.tables:
            return [[] for _ in names]
        made: list[list[Any]] = [[] for _ in names]
        chosen = ",".join(f'"{n}"' for n in names)
        try:
            cursor = self._connection.execute(f'SELECT {chosen} FROM "{table}"')
            while rows := cursor.fetchmany(BLOCK):
                for column, values in zip(made, zip(*rows, strict=True), strict=True):
                    column.extend(values)
        except (sqlite3.Error, UnicodeDecodeError, MemoryError) as error:  # sqlite: a damaged length asks for more than there is
            self.problems.append(
                Missing(
                    f"{'the rest of ' if made[0] else ''}table {table} of {self.path.name}",
                    str(error) or "a row of it is damaged",
                )
            )
        return made

    def read(self, table: str) -> dict[str, Array]:
        """The known columns of a table (data/db.csv) that it has; {} without rows."""
        held = self.columns_of(table)
        wanted: list[tuple[str, str, str]] = []
        for row in tables.rows_of("db.csv"):
            if row["table"] == table:
                found = next((n for n in row["names"].split("|") if n in held), None)
                if found is not None:
                    wanted.append((row["column"], row["convert"], found))
        if not wanted:
            return {}
        raw = self.raw(table, [name for _, _, name in wanted])
        return {column: self._column(how, values) for (column, how, _), values in zip(wanted, raw, strict=True)} if raw[0] else {}

    def _column(self, how: str, values: list[Any]) -> Array:
        if how == "ns":
            if set(map(type, values)) == {int} and max(values) < times.MOST and min(values) > -times.MOST:
                return np.array(values, np.int64)
            return np.fromiter((_ns(v) for v in values), np.int64, len(values))
        if how in ("text", "shapes"):
            return self.texts(values, how == "shapes")
        if how.startswith("enum:"):
            return self._enum(how[5:], values)
        return self.convert(how, values)

    def texts(self, values: Sequence[Any], shapes: bool = False) -> Array:
        """Ids of texts by their number in STRING_IDS; texts that stand in the column itself are taken too."""
        if self._texts is None:
            ids, texts = self.raw("STRING_IDS", ("id", "value"))
            self._texts = dict(zip(ids, self.convert.texts(texts).tolist(), strict=True))
        known, strings = self._texts, self.convert.strings
        made = {}
        for value in dict.fromkeys(values):
            number = known.get(value, -1)
            if number < 0 and isinstance(value, str):
                number = int(self.convert.texts([value])[0])
            if shapes and number >= 0:
                number = int(self.convert.texts([strings[number].replace('"', "")])[0])
            made[value] = number
        return np.fromiter((made[v] for v in values), np.int32, len(values))

    def _enum(self, table: str, values: Sequence[Any]) -> Array:
        """Texts of an enumeration: as the file explains it, else as the schema does. Old files hold ids of STRING_IDS instead."""
        known = {int(r["id"]): r["name"] for r in tables.rows_of("db_enums.csv") if r["table"] == table}
        if table in self.tables:
            known |= dict(zip(*self.raw(table, ("id", "name")), strict=True))
        elif any(isinstance(v, int) and v not in known and v < 65534 for v in values):
            return self.texts(values)
        return self.convert.texts([known.get(v) for v in values])


def _ns(value: Any) -> int:
    """Times stand as integers, in some tables as texts."""
    if isinstance(value, str):
        value = int(value) if value.strip().isdigit() else None
    if isinstance(value, float) and np.isfinite(value):
        value = int(value)
    return value if isinstance(value, int) and abs(value) < times.MOST else times.NONE
