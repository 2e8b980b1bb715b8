"""SQL over a profile: an SQLite database in memory with the tables of profiler.convert.tables that a statement names."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

from profiler.convert import tables
from profiler.trace import Trace, Unreadable

PROFILES = ("profile", "source", "rank", "soc", "generator", "unix_zero_ns")
SEEN = "msprof query SRC lists the tables and their columns; times are ns, `profile` tells several profiles apart"


class Answer(NamedTuple):
    columns: tuple[str, ...]
    rows: list[tuple[object, ...]]


def ask(traces: Sequence[Trace], statement: str) -> Answer:
    """The rows of one statement. Unreadable with SQLite's words for one that is wrong; nothing can be changed by it."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        _fill(connection, traces, statement)
        connection.execute("PRAGMA query_only=ON")
        cursor = connection.execute(statement)
        found = cursor.fetchall()
    except (sqlite3.Error, sqlite3.Warning) as error:
        raise Unreadable(f"SQL: {error}", SEEN) from error
    finally:
        connection.close()
    return Answer(tuple(d[0] for d in cursor.description or ()), found)


def _fill(connection: sqlite3.Connection, traces: Sequence[Trace], statement: str) -> None:
    connection.execute("PRAGMA synchronous=OFF")
    connection.execute("BEGIN")
    words = set(re.findall(r"\w+", statement.lower()))
    for table, names in tables.held(traces).items():
        connection.execute(f"CREATE TABLE {table} ({', '.join(quoted(n) for n in names)})")
        if table in words:
            marks = ",".join("?" * len(names))
            connection.executemany(f"INSERT INTO {table} VALUES ({marks})", tables.rows(traces, table, names))
    connection.execute(f"CREATE TABLE profile ({', '.join(PROFILES)})")
    facts = [(number, str(t.source), *(_fact(t.meta.get(n)) for n in PROFILES[2:])) for number, t in enumerate(traces)]
    connection.executemany("INSERT INTO profile VALUES (?,?,?,?,?,?)", facts)
    connection.execute("COMMIT")


def _fact(value: object) -> int | str | None:
    return value if value is None or isinstance(value, int) else str(value)


def quoted(name: str) -> str:
    """A name as SQL takes it whatever it holds."""
    return '"' + name.replace('"', '""') + '"'
