"""communication_statistic: the time of a device by type of communication operator, longest total first."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from npu import events
from npu.units import US
from profiler.export import csvtext, words
from profiler.trace import Trace

NAME = "communication_statistic"
HEADER = ("Device_id", "OP Type", "Count", "Total Time(us)", "Min Time(us)", "Avg Time(us)", "Max Time(us)", "Ratio(%)")


def write(trace: Trace, folder: Path, stamp: str) -> list[Path]:
    """The file; no file when nothing communicated. Ratio is the share of the device's communication time."""
    if not trace.comm:
        return []
    ops = trace.comm.take(np.flatnonzero(trace.comm["level"] == events.COMM_LEVELS.index("op")))
    by_type: dict[tuple[int, str], list[int]] = {}
    whole: dict[int, int] = {}
    for device, name, start, end in zip(*(ops[n].tolist() for n in ("device", "name", "start", "end")), strict=True):
        by_type.setdefault((device, words.operator_type(trace.strings[name])), []).append(end - start)
        whole[device] = whole.get(device, 0) + end - start
    lines = []
    for (device, kind), times in sorted(by_type.items(), key=lambda item: (item[0][0], -sum(item[1]))):
        total = sum(times)
        numbers = (total / US, min(times) / US, total / len(times) / US, max(times) / US, 100 * total / (whole[device] or 1))
        lines.append(",".join((str(device), csvtext.field(kind), str(len(times)), *map(csvtext.short3, numbers))))
    return csvtext.write_table(folder, NAME, stamp, HEADER, [lines], len(lines)) if lines else []
