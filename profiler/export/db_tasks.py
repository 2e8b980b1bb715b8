"""TASK, COMPUTE_TASK_INFO, COMMUNICATION_SCHEDULE_TASK_INFO, MEMCPY_INFO and TASK_PMU_INFO.

A task's globalTaskId is its row in the trace; parts of collectives that are no tasks of the trace follow behind (db_comm).
"""

from __future__ import annotations

import numpy as np

from profiler.export import chrome, columns, pmu, words
from profiler.export.database import Database
from profiler.export.flows import launched_by_communication
from profiler.trace import Array, Columns, Trace

NO_ID = 0xFFFFFFFF  # "no value" of connection, context and model ids
OTHER_COPY = 65535


def write(database: Database, trace: Trace) -> None:
    """All tasks, and for kernels what was computed and what the counters said; nothing without tasks."""
    if not trace.task:
        return
    task = trace.task
    keys = [columns.column(task, n) for n in ("kind", "direction", "task_type")]
    rows, which = columns.distinct(keys)
    called = [words.task_type(k, d, trace.strings[t]) for k, d, t in zip(*(c[rows].tolist() for c in keys), strict=True)]
    context = np.array([0 if c.stars.startswith("MIX") else NO_ID for c in called])[which]
    insert_tasks(database, trace, task, np.arange(len(task)), database.texts([c.kernel_type for c in called])[which], context)
    database.connection.execute("CREATE INDEX TaskIndex ON TASK (startNs,globalTaskId)")
    cores = database.texts([c.stars for c in called])[which]
    kernels = trace.tasks_of(*words.KERNELS)
    scheduling = kernels & launched_by_communication(trace)
    _compute(database, trace, np.flatnonzero(kernels & ~scheduling), cores)
    at = np.flatnonzero(scheduling)
    name, op_type = (database.text_column(trace.strings, columns.column(task, n)[at]) for n in ("name", "op_type"))
    database.insert("COMMUNICATION_SCHEDULE_TASK_INFO", name, at, cores[at], op_type)
    _copies(database, trace)
    _counters(database, task, np.flatnonzero(kernels))


def insert_tasks(database: Database, trace: Trace, task: Columns, ids: Array, types: Array, context: Array | int) -> None:
    """TASK rows of a table with the columns of tasks. ids: their globalTaskId; types: their texts."""
    zero = chrome.unix_zero(trace)
    connection, model = (_or_none(columns.column(task, n)) for n in ("correlation", "model"))
    stream, number = (np.maximum(columns.column(task, n), 0) for n in ("stream", "task_id"))
    database.insert(
        "TASK",
        task["start"] + zero,
        task["end"] + zero,
        task["device"],
        connection,
        ids,
        int(trace.meta.get("pid", 0)),
        types,
        context,
        stream,
        number,
        model,
    )


def _or_none(ids: Array) -> Array:
    return np.where(ids >= 0, ids, NO_ID)


def _compute(database: Database, trace: Trace, at: Array, cores: Array) -> None:
    task, strings = trace.task, trace.strings

    def text(name: str, quoted: bool = False) -> Array:
        return database.text_column(strings, columns.column(task, name)[at], quoted=quoted)

    blocks, mixed = (np.maximum(columns.column(task, n)[at], 0) for n in ("block_dim", "mix_block_dim"))
    database.insert(
        "COMPUTE_TASK_INFO",
        text("name"),
        at,
        blocks,
        mixed,
        cores[at],
        text("op_type"),
        text("in_formats"),
        text("in_dtypes"),
        text("in_shapes", True),
        text("out_formats"),
        text("out_dtypes"),
        text("out_shapes", True),
        database.text("N/A"),
        text("op_state"),
        text("hf32"),
    )


def _copies(database: Database, trace: Trace) -> None:
    """Directions of a trace stand in the order of ENUM_MEMCPY_OPERATION."""
    at = np.flatnonzero(trace.tasks_of("copy"))
    size, direction = (columns.column(trace.task, n)[at] for n in ("bytes", "direction"))
    known = size >= 0
    database.insert("MEMCPY_INFO", at[known], size[known], np.where(direction >= 0, direction, OTHER_COPY)[known])


def _counters(database: Database, task: Columns, at: Array) -> None:
    """One row per kernel and counter. Kernels repeat, so each distinct set of values is handed over once and SQLite multiplies
    them out: a million kernels of 24 counters take seconds instead of a minute."""
    kernels = task.take(at)
    names = pmu.database_names(pmu.names(task))
    values = pmu.shown(kernels, [n for n, _, _ in names])
    if not names:
        return
    rows, which = columns.distinct([values[n] for n, _, _ in names])
    measured = ~np.isnan(values[names[0][0]])  # all counters of a kernel or none
    if not measured.any():
        return
    run = database.connection
    run.execute("PRAGMA temp_store=MEMORY")
    run.execute("CREATE TEMP TABLE counted (kernel INTEGER PRIMARY KEY,same INTEGER)")
    run.execute(
        "CREATE TEMP TABLE counter (same INTEGER,place INTEGER,name INTEGER,value NUMERIC,PRIMARY KEY(same,place)) WITHOUT ROWID"
    )
    run.executemany("INSERT INTO counted VALUES (?,?)", zip(at[measured].tolist(), which[measured].tolist(), strict=True))
    for place, (column, name, factor) in enumerate(names):
        text = database.text(name)
        made = (values[column][rows] * factor).tolist()
        run.executemany(
            "INSERT INTO counter VALUES (?,?,?,?)",
            ((same, place, text, value) for same, value in enumerate(made) if value == value),
        )
    database.create("TASK_PMU_INFO")
    run.execute("INSERT INTO TASK_PMU_INFO SELECT kernel,name,value FROM counted CROSS JOIN counter USING (same)")
    run.execute("DROP TABLE counted")
    run.execute("DROP TABLE counter")
