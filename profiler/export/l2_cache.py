"""l2_cache: how much of what each kernel touched was found in L2, and how much pushed other lines out."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from npu.cost.counter_groups import beyond_l2
from profiler.export import columns, csvtext, info_json
from profiler.trace import Trace

NAME = "l2_cache"
HEADER = ("Device_id", "Stream Id", "Task Id", "Hit Rate", "Victim Rate", "Op Name")


def write(trace: Trace, folder: Path, stamp: str) -> list[Path]:
    """The file; no file where no kernel ran on the cores. As real files have it rates are shares of 1 with up to six decimals.

    What a kernel is modelled to touch beyond half of L2 misses, and each line that misses takes the place of another one; a
    kernel of which nobody knows the bytes has N/A.
    """
    chip = info_json.chip(trace)
    if not trace.task or chip is None or "read_bytes" not in trace.task:
        return []
    task = trace.task.take(np.flatnonzero(trace.tasks_of("kernel")))
    if not len(task):
        return []
    task = task.take(np.lexsort((task["start"], task["device"])))
    touched = np.asarray(task["read_bytes"], np.float64) + np.asarray(task["write_bytes"], np.float64)
    missed = beyond_l2(touched, chip.l2)
    keys = [missed, columns.column(task, "name")]
    rows, which = columns.distinct(keys)
    rates = [(csvtext.NA,) * 2 if np.isnan(m) else (share(1 - m), share(m)) for m in missed[rows].tolist()]
    names = [csvtext.field(t) for t in columns.texts_of(trace.strings, keys[1][rows], csvtext.NA)]
    shown = [f"{hit},{victim},{name}" for (hit, victim), name in zip(rates, names, strict=True)]
    numbers = (task["device"].tolist(), columns.ints(columns.column(task, "stream"), csvtext.NA),
               columns.ints(columns.column(task, "task_id"), csvtext.NA))  # fmt: skip
    lines = [f"{d},{s},{t},{shown[w]}" for d, s, t, w in zip(*numbers, which.tolist(), strict=True)]
    return csvtext.write_table(folder, NAME, stamp, HEADER, [lines], len(lines))


def share(value: float) -> str:
    """0.0, 0.23264, 4.1e-05: as a share of 1 stands in real files."""
    return repr(round(value, 6))
