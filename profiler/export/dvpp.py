"""dvpp: time, frames and use of each unit of the media engine."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from npu.units import US
from profiler.export import csvtext
from profiler.trace import Trace

NAME = "dvpp"
HEADER = ("Device_id", "Dvpp Id", "Engine Type", "Engine ID", "All Time(us)", "All Frame", "All Utilization(%)")
PREFIX = "DVPP_"  # of the task types of a capture: DVPP_VPC, DVPP_JPEGD ...


def write(trace: Trace, folder: Path, stamp: str) -> list[Path]:
    """The file; no file when no job ran there. A job counts as a frame; utilization is of the time of the whole trace. A device
    has one engine of each type, numbered 0."""
    rows = np.flatnonzero(trace.tasks_of("dvpp")) if trace.task else np.zeros(0, np.int64)
    if not len(rows):
        return []
    task = trace.task
    begin, end = trace.span()
    spent: dict[tuple[int, str], list[int]] = {}
    for device, kind, start, stop in zip(*(task[n][rows].tolist() for n in ("device", "task_type", "start", "end")), strict=True):
        spent.setdefault((device, trace.strings[kind].removeprefix(PREFIX)), []).append(stop - start)
    lines = [
        f"{device},0,{csvtext.field(unit)},0,{csvtext.short3(sum(times) / US)},{len(times)},"
        f"{csvtext.short3(100 * sum(times) / (end - begin))}"
        for (device, unit), times in sorted(spent.items())
    ]
    return csvtext.write_table(folder, NAME, stamp, HEADER, [lines], len(lines))
