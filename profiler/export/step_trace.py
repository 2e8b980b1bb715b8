"""step_trace: one row per execution of a compiled model."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from npu.units import us3
from profiler.export import chrome, columns, csvtext
from profiler.trace import Trace

NAME = "step_trace"
HEADER = ("Device_id", "Iteration ID", "FP Start(us)", "BP End(us)", "Iteration End(us)", "Iteration Time(us)",
          "FP to BP Time(us)", "Iteration Refresh(us)", "Data Aug Bound(us)", "Model ID")  # fmt: skip


class Execution(NamedTuple):
    """What one call launched of a model: number of the execution of that model, begin and end of its tasks, ns; bound: from the
    end of the execution before it on the device to its begin, ns, None for the first."""

    device: int
    number: int
    begin: int
    end: int
    bound: int | None
    model: int


def executions(trace: Trace) -> list[Execution]:
    """In order of device and begin."""
    model = columns.column(trace.task, "model")
    rows = np.flatnonzero((model >= 0) & (columns.column(trace.task, "correlation") >= 0)) if trace.task else np.zeros(0, int)
    if not len(rows):
        return []
    task = trace.task.take(rows)
    first, which = columns.distinct([task[n] for n in ("device", "model", "correlation")])
    begin, end = np.full(len(first), np.iinfo(np.int64).max), np.zeros(len(first), np.int64)
    np.minimum.at(begin, which, task["start"])
    np.maximum.at(end, which, task["end"])
    device, of_model = task["device"][first], task["model"][first]
    counted: dict[tuple[int, int], int] = {}
    before: dict[int, int] = {}
    made = []
    for n in np.lexsort((begin, device)).tolist():
        place, number, start, stop = int(device[n]), int(of_model[n]), int(begin[n]), int(end[n])
        counted[place, number] = counted.get((place, number), 0) + 1
        bound = start - before[place] if place in before else None
        before[place] = stop
        made.append(Execution(place, counted[place, number], start, stop, bound, number))
    return made


def write(trace: Trace, folder: Path, stamp: str) -> list[Path]:
    """The file; no file when no model ran. FP Start is the start of an execution's first task. Executions have no backward pass:
    what would end or follow one is N/A."""
    zero, na = chrome.unix_zero(trace), csvtext.NA
    lines = [
        f"{e.device},{e.number},{us3(e.begin + zero)}\t,{na},{us3(e.end + zero)}\t,{us3(e.end - e.begin)},{na},{na},"
        f"{na if e.bound is None else us3(e.bound)},{e.model}"
        for e in executions(trace)
    ]
    return csvtext.write_table(folder, NAME, stamp, HEADER, [lines], len(lines)) if lines else []
