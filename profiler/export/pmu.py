"""Counters of a kernel as the files show them: which columns, their names in the database, and zeros where a core had nothing
to do."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from profiler.export import words
from profiler.trace import Array, Columns

# The real order of the PipeUtilization group on chips with separate cores; other groups keep the order of the trace.
PIPES = (
    "aicore_time(us)",
    "aic_total_cycles",
    "aic_mac_time(us)",
    "aic_mac_ratio",
    "aic_scalar_time(us)",
    "aic_scalar_ratio",
    "aic_mte1_time(us)",
    "aic_mte1_ratio",
    "aic_mte2_time(us)",
    "aic_mte2_ratio",
    "aic_fixpipe_time(us)",
    "aic_fixpipe_ratio",
    "aic_icache_miss_rate",
    "aiv_time(us)",
    "aiv_total_cycles",
    "aiv_vec_time(us)",
    "aiv_vec_ratio",
    "aiv_scalar_time(us)",
    "aiv_scalar_ratio",
    "aiv_mte2_time(us)",
    "aiv_mte2_ratio",
    "aiv_mte3_time(us)",
    "aiv_mte3_ratio",
    "aiv_icache_miss_rate",
    "cube_utilization(%)",
)
# Names that are not the column's name without its unit; the database has no utilization of the whole chip.
IN_DATABASE = {"aicore_time(us)": "aic_total_time", "aiv_time(us)": "aiv_total_time"}
NOT_IN_DATABASE = ("cube_utilization(%)", "memory_bound")


def names(task: Columns) -> tuple[str, ...]:
    """The counter columns of a task table (pmu.csv), PipeUtilization in the real order before others.

    On chips with separate cores the names carry the prefix aic_ or aiv_.
    """
    known = {row["name"] for row in words.rows_of("pmu.csv")}
    floats = [n for n, c in task.items() if c.dtype == np.float64]
    held = [n for n in floats if n in known or n.removeprefix("aic_").removeprefix("aiv_") in known]
    return (*(n for n in PIPES if n in held), *(n for n in held if n not in PIPES))


def shown(task: Columns, counters: Sequence[str]) -> dict[str, Array]:
    """The columns with 0 for a kind of core that took no part in a kernel, as real files have it.

    A kernel no core of which was measured (AI CPU, level 0) keeps "no value" everywhere.
    """
    if not counters:
        return {}
    measured = np.zeros(len(task), bool)
    for name in counters:
        measured |= ~np.isnan(task[name])
    return {n: np.where(measured & np.isnan(task[n]), 0.0, task[n]) for n in counters}


def database_names(counters: Sequence[str]) -> list[tuple[str, str, float]]:
    """(column, name in the database, factor): no units in the names, times in ns."""
    made = []
    for name in counters:
        if name in NOT_IN_DATABASE:
            continue
        bare, unit, _ = name.partition("(")
        made.append((name, IN_DATABASE.get(name, bare), 1000.0 if unit and name.endswith("(us)") else 1.0))
    return made
