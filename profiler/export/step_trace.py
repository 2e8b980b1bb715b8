"""step_trace: one row per execution of a compiled model."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from npu.units import us3
from profiler.export import chrome, columns, csvtext
from profiler.trace import Trace

NAME = "step_trace"
HEADER = ("Device_id", "Iteration ID", "FP Start(us)", "BP End(us)", "Iteration End(us)", "Iteration Time(us)",
          "FP to BP Time(us)", "Iteration Refresh(us)", "Data Aug Bound(us)", "Model ID")  # fmt: skip


def write(trace: Trace, folder: Path, stamp: str) -> list[Path]:
    """The file; no file when no model ran. An execution is what one call launched of a model; FP Start is its first task's start.

    Executions have no backward pass: what would end or follow one is N/A. Data Aug Bound: from the end of the execution before
    it on the device to its start; N/A for the first.
    """
    model = columns.column(trace.task, "model")
    rows = np.flatnonzero((model >= 0) & (columns.column(trace.task, "correlation") >= 0)) if trace.task else np.zeros(0, int)
    if not len(rows):
        return []
    task, zero = trace.task.take(rows), chrome.unix_zero(trace)
    first, which = columns.distinct([task[n] for n in ("device", "model", "correlation")])
    begin, end = np.full(len(first), np.iinfo(np.int64).max), np.zeros(len(first), np.int64)
    np.minimum.at(begin, which, task["start"])
    np.maximum.at(end, which, task["end"])
    device, of_model = task["device"][first], task["model"][first]
    counted: dict[tuple[int, int], int] = {}
    before: dict[int, int] = {}
    lines = []
    for n in np.lexsort((begin, device)).tolist():
        place, number = int(device[n]), int(of_model[n])
        counted[place, number] = counted.get((place, number), 0) + 1
        bound = us3(int(begin[n]) - before[place]) if place in before else csvtext.NA
        start, stop = int(begin[n]), int(end[n])
        before[place] = stop
        lines.append(
            f"{place},{counted[place, number]},{us3(start + zero)}\t,{csvtext.NA},{us3(stop + zero)}\t,{us3(stop - start)},"
            f"{csvtext.NA},{csvtext.NA},{bound},{number}"
        )
    return csvtext.write_table(folder, NAME, stamp, HEADER, [lines], len(lines))
