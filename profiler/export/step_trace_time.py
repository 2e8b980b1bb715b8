"""step_trace_time.csv of a torch_npu profile: where the time of each step went, us."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from npu import events
from profiler.export.files import whole
from profiler.export.overlap import overlap
from profiler.export.timeline_overlap import devices_of
from profiler.export.torch_steps import steps
from profiler.intervals import Spans, intersect, length, union
from profiler.trace import Trace

NAME = "step_trace_time"
HEADER = ("Device_id", "Step", "Computing", "Communication(Not Overlapped)", "Overlapped", "Communication", "Free", "Stage",
          "Bubble", "Communication(Not Overlapped and Exclude Receive)", "Preparing")  # fmt: skip
RECEIVE = "receive"


def write(trace: Trace, path: Path) -> list[Path]:
    """The file; none when no device did anything. Without steps in the trace the whole of it is one row with an empty Step.

    Computing + not overlapped + free = stage. Preparing: from the step's beginning to the device's first work in it.
    """
    lines = [_line(trace, device, step) for device in devices_of(trace) for step in steps(trace) or [("", *trace.span())]]
    lines = [line for line in lines if line]
    if not lines:
        return []
    with whole(path, replace=True) as out:
        out.write("\n".join((",".join(HEADER), *lines)) + "\n")
    return [path]


def _line(trace: Trace, device: int, step: tuple[str, int, int]) -> str:
    number, begin, end = step
    window = union(np.array([begin]), np.array([end]))
    sets = {name: intersect(spans, window) for name, spans in overlap(trace, device).items()}
    computing, communication, alone = (length(sets[n]) for n in ("Computing", "Communication", "Communication(Not Overlapped)"))
    busy = union(*(np.concatenate(pair) for pair in zip(sets["Computing"], sets["Communication"], strict=True)))
    if not len(busy.starts):
        return ""
    stage = int(busy.ends[-1] - busy.starts[0])
    receiving = length(intersect(intersect(_receives(trace, device), sets["Communication(Not Overlapped)"]), window))
    free = stage - computing - alone
    times = (computing, alone, communication - alone, communication, free, stage, receiving, alone - receiving,
             int(busy.starts[0]) - begin)  # fmt: skip
    return ",".join((str(device), number, *(f"{t / 1000:.3f}" for t in times)))


def _receives(trace: Trace, device: int) -> Spans:
    if not trace.comm:
        return union(np.zeros(0, np.int64), np.zeros(0, np.int64))
    wanted = trace.strings.matching(lambda text: RECEIVE in text.lower())
    mine = np.isin(trace.comm["name"], wanted) & (trace.comm["device"] == device)
    mine &= trace.comm["level"] == events.COMM_LEVELS.index("op")
    return union(trace.comm["start"][mine], trace.comm["end"][mine])
