"""op_statistic: the time of a device by operator type and core type, longest total first."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from npu.units import US
from profiler.export import columns, csvtext, words
from profiler.trace import Trace

NAME = "op_statistic"
HEADER = ("Device_id", "OP Type", "Core Type", "Count", "Total Time(us)", "Min Time(us)", "Avg Time(us)", "Max Time(us)",
          "Ratio(%)")


def write(trace: Trace, folder: Path, stamp: str) -> list[Path]:
    """The file; no file when no kernel has an operator type. Ratio is the share of the device's kernel time."""
    kernels = trace.tasks_of(*words.KERNELS)
    if trace.task.get("op_type") is None or not (trace.task["op_type"][kernels] >= 0).any():
        return []
    task = trace.task.take(np.flatnonzero(kernels))
    duration = task["end"] - task["start"]
    groups = [task[n] if n in task else np.full(len(task), -1) for n in ("device", "op_type", "kind", "task_type")]
    rows, which = columns.distinct(groups)
    count = np.bincount(which)
    total = np.zeros(len(rows), np.int64)
    np.add.at(total, which, duration)
    shortest, longest = np.full(len(rows), np.iinfo(np.int64).max), np.zeros(len(rows), np.int64)
    np.minimum.at(shortest, which, duration)
    np.maximum.at(longest, which, duration)
    device = task["device"][rows]
    of_device = {d: int(total[device == d].sum()) for d in np.unique(device).tolist()}
    lines = []
    for n in np.lexsort((-total, device)).tolist():
        row = rows[n]
        whole = of_device[int(device[n])]
        times = (total[n] / US, shortest[n] / US, total[n] / count[n] / US, longest[n] / US)
        numbers = (*times, 100 * total[n] / whole if whole else 0.0)
        op_type = columns.texts_of(trace.strings, groups[1][row : row + 1], csvtext.NA)[0]
        core = words.task_type(int(groups[2][row]), -1, trace.strings[int(groups[3][row])]).stars
        lines.append(",".join((str(device[n]), csvtext.field(op_type), core, str(count[n]), *map(csvtext.short3, numbers))))
    return csvtext.write_table(folder, NAME, stamp, HEADER, [lines], len(lines))
