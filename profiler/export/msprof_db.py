"""msprof_{stamp}.db: everything a trace holds as the tables of the msprof database. Times unix ns, sizes bytes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from profiler.export import db_comm, db_counters, db_facts, db_host, db_memory, db_tasks
from profiler.export.database import Database, whole_database
from profiler.trace import Trace

NAME = "msprof_db"
# Each writes the tables of one subject; a table exists only when there are rows for it.
TABLES: tuple[Callable[[Database, Trace], None], ...] = (
    db_facts.write,
    db_tasks.write,
    db_comm.write,
    db_host.write,
    db_memory.write,
    db_counters.write,
)


def write(trace: Trace, folder: Path, stamp: str) -> list[Path]:
    """The file, beside the folder of the text files as in real results; none for a trace without calls, tasks, communication."""
    if not (trace.api or trace.task or trace.comm):
        return []
    path = folder.parent / f"msprof_{stamp}.db"
    fill(trace, path)
    return [path]


def fill(trace: Trace, path: Path) -> None:
    """A database of that name. FileExistsError when it is there."""
    with whole_database(path) as database:
        for tables in TABLES:
            tables(database, trace)
