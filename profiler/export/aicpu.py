"""aicpu: the parts of each operator that ran on the AI CPU."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from npu.cost.aicpu import LAUNCH_NS
from profiler.export import chrome, columns, csvtext
from profiler.trace import Trace

NAME = "aicpu"
HEADER = ("Device_id", "Timestamp(us)", "Node", "Compute_time(us)", "Memcpy_time(us)", "Task_time(us)", "Dispatch_time(us)",
          "Total_time(us)", "Stream ID", "Task ID")  # fmt: skip


def write(trace: Trace, folder: Path, stamp: str) -> list[Path]:
    """The file; no file when nothing ran there. The time of an operator is one of dispatching, which does not depend on its size
    (npu.cost.aicpu), and one of computing; it works in the device's memory, so nothing is copied for it."""
    rows = np.flatnonzero(trace.tasks_of("aicpu")) if trace.task else np.zeros(0, np.int64)
    if not len(rows):
        return []
    task = trace.task.take(rows)
    task = task.take(np.lexsort((task["start"], task["device"])))
    total = task["end"] - task["start"]
    dispatch = np.minimum(total, LAUNCH_NS)
    compute, dispatched, whole = (columns.microseconds(t) for t in (total - dispatch, dispatch, total))
    names = [csvtext.field(t) for t in columns.texts_of(trace.strings, columns.column(task, "name"), csvtext.NA)]
    numbers = (columns.ints(columns.column(task, n), csvtext.NA) for n in ("stream", "task_id"))
    start = columns.microseconds(task["start"] + chrome.unix_zero(trace))
    fields = zip(task["device"].tolist(), start, names, compute, dispatched, whole, *numbers, strict=True)
    lines = [f"{d},{s}\t,{n},{c},0.000,{c},{off},{w},{stream},{t}" for d, s, n, c, off, w, stream, t in fields]
    return csvtext.write_table(folder, NAME, stamp, HEADER, [lines], len(lines))
