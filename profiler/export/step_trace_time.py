"""step_trace_time.csv of a torch_npu profile: where the time of each step went, us."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from profiler.export.files import whole
from profiler.export.flows import launch_times
from profiler.export.overlap import ROWS, overlap_of, working
from profiler.export.torch_steps import Numbered, steps
from profiler.intervals import Spans, intersect, length, union
from profiler.trace import Array, Trace

NAME = "step_trace_time"
HEADER = ("Device_id", "Step", "Computing", "Communication(Not Overlapped)", "Overlapped", "Communication", "Free", "Stage",
          "Bubble", "Communication(Not Overlapped and Exclude Receive)", "Preparing")  # fmt: skip
RECEIVE = "receive"


def write(trace: Trace, path: Path) -> list[Path]:
    """The file; none when no device did anything. Without steps in the trace the whole of it is one row with an empty Step.

    Work belongs to the step that launched it, also where it ends later. Computing + not overlapped + free = stage. Preparing:
    from the step's beginning to the device's first work of it.
    """
    lines = [line for device in trace.devices() for line in _lines(trace, device)]
    if not lines:
        return []
    with whole(path, replace=True) as out:
        out.write("\n".join((",".join(HEADER), *lines)) + "\n")
    return [path]


def _lines(trace: Trace, device: int) -> list[str]:
    tasks, ops = working(trace, device)
    marked = steps(trace)
    if not marked:
        return _line(trace, device, "", trace.span()[0], tasks, ops)
    step = Numbered(trace)
    in_task, in_comm = (step.at(launch_times(trace, t, r)) for t, r in ((trace.task, tasks), (trace.comm, ops)))
    return [
        line
        for place, (number, begin, _) in enumerate(marked)
        for line in _line(trace, device, number, begin, tasks[in_task == place], ops[in_comm == place])
    ]


def _line(trace: Trace, device: int, number: str, begin: int, tasks: Array, ops: Array) -> list[str]:
    sets = overlap_of(trace, tasks, ops)
    computing, communication, alone, free = (length(sets[n]) for n in ROWS)
    busy = [s for name in ("Computing", "Communication") for s in (sets[name],) if len(s.starts)]
    if not busy:
        return []
    first, last = min(int(s.starts[0]) for s in busy), max(int(s.ends[-1]) for s in busy)
    receiving = length(intersect(_receives(trace, ops), sets["Communication(Not Overlapped)"]))
    times = (computing, alone, communication - alone, communication, free, last - first, receiving, alone - receiving,
             first - begin)  # fmt: skip
    return [",".join((str(device), number, *(f"{t / 1000:.3f}" for t in times)))]


def _receives(trace: Trace, ops: Array) -> Spans:
    wanted = trace.strings.matching(lambda text: RECEIVE in text.lower())
    mine = ops[np.isin(trace.comm["name"][ops], wanted)] if len(ops) else ops
    return union(trace.comm["start"][mine], trace.comm["end"][mine]) if len(mine) else union(mine, mine)
