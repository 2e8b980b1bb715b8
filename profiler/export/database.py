"""An SQLite file of the msprof layout: tables as db_tables.csv states them, texts interned, whole or absent like every export."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from profiler.export import columns, words
from profiler.trace import Array, Strings

Values = Array | int  # a column, or one value for all rows


class Database:
    """The file while it is written. Text columns hold ids of STRING_IDS, which is written last."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self._texts = Strings()

    def text(self, text: str) -> int:
        """The id of a text."""
        return self._texts.id(text)

    def texts(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """The ids of many texts."""
        return np.array([self._texts.id(t) for t in texts], np.int64)

    def text_column(self, strings: Strings, ids: Array, missing: str = "N/A", quoted: bool = False) -> NDArray[np.int64]:
        """A column of texts of the trace in ids of this file. quoted: shapes, which the real files keep in quotes."""
        known, which = np.unique(ids, return_inverse=True)
        found = [strings[i] if i >= 0 else missing for i in known.tolist()]
        return self.texts([f'"{t}"' if quoted and t != missing else t for t in found])[which]

    def create(self, table: str) -> None:
        """Make a table of db_tables.csv."""
        body = ",".join(f"{name} {kind}" for name, kind in schema()[table])
        self.connection.execute(f"CREATE TABLE IF NOT EXISTS {table} ({body})")

    def insert(self, table: str, *values: Values) -> None:
        """Rows of a table, one argument per column in its order; the table is made with its first rows, none for no rows."""
        rows = max((len(v) for v in values if not isinstance(v, int)), default=0)
        if not rows:
            return
        self.create(table)
        statement = f"INSERT INTO {table} VALUES ({','.join('?' * len(values))})"
        for begin in range(0, rows, columns.CHUNK):
            part = slice(begin, min(rows, begin + columns.CHUNK))
            lists = [[v] * (part.stop - begin) if isinstance(v, int) else v[part].tolist() for v in values]
            self.connection.executemany(statement, zip(*lists, strict=True))

    def facts(self, table: str, rows: Sequence[Sequence[str | int]]) -> None:
        """The few rows of a table of facts."""
        if rows:
            self.create(table)
            self.connection.executemany(f"INSERT INTO {table} VALUES ({','.join('?' * len(rows[0]))})", rows)

    def close(self) -> None:
        """Write the texts and end the transaction."""
        self.facts("STRING_IDS", list(enumerate(self._texts.texts)))
        self.connection.commit()


@cache
def schema() -> dict[str, list[tuple[str, str]]]:
    """Table -> its columns as (name, SQL type), in the order of creation."""
    made: dict[str, list[tuple[str, str]]] = {}
    for row in words.rows_of("db_tables.csv"):
        made.setdefault(row["table"], []).append((row["column"], row["type"]))
    return made


@cache
def enum_ids(table: str) -> dict[str, int]:
    """Name -> id of one ENUM_ table."""
    return {r["name"]: int(r["id"]) for r in words.rows_of("db_enums.csv") if r["table"] == table}


@contextmanager
def whole_database(path: Path) -> Iterator[Database]:
    """A database that appears at `path` when the block ends well, and never otherwise. FileExistsError when something is there,
    OSError when the disk refuses."""
    if path.exists():
        raise FileExistsError(f"{path} exists and is not overwritten")
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    part.unlink(missing_ok=True)
    try:
        connection = sqlite3.connect(part, isolation_level=None)
        try:
            # Nobody sees the file before it is complete: no journal is needed to take anything back.
            connection.execute("PRAGMA journal_mode=OFF")
            connection.execute("PRAGMA synchronous=OFF")
            connection.execute("BEGIN")
            database = Database(connection)
            yield database
            database.close()
        finally:
            connection.close()
        os.replace(part, path)
    except sqlite3.OperationalError as error:
        part.unlink(missing_ok=True)
        raise OSError(errno.ENOSPC if "full" in str(error) else errno.EIO, str(error), str(path)) from error
    except BaseException:
        part.unlink(missing_ok=True)
        raise
