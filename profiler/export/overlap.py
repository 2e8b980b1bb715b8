"""Computing, Communication, Communication(Not Overlapped) and Free of a device, as intervals."""

from __future__ import annotations

import numpy as np

from npu import events
from profiler.export import words
from profiler.export.flows import launched_by_communication
from profiler.intervals import Spans, gaps, subtract, union
from profiler.trace import Trace

ROWS = ("Computing", "Communication", "Communication(Not Overlapped)", "Free")


def overlap(trace: Trace, device: int) -> dict[str, Spans]:
    """The four sets by row name, ns, from the first to the last computing or communication of the device.

    Computing: kernels of all kinds except those that a communication operator launched. Communication: whole operators.
    """
    nothing = union(np.zeros(0, np.int64), np.zeros(0, np.int64))
    communication = nothing
    if trace.comm:
        ops = trace.comm.take((trace.comm["level"] == events.COMM_LEVELS.index("op")) & (trace.comm["device"] == device))
        communication = union(ops["start"], ops["end"])
    computing = nothing
    if trace.task:
        own = trace.tasks_of(*words.KERNELS) & (trace.task["device"] == device) & ~launched_by_communication(trace)
        computing = union(trace.task["start"][own], trace.task["end"][own])
    busy = union(np.concatenate((computing.starts, communication.starts)), np.concatenate((computing.ends, communication.ends)))
    free = gaps(busy, int(busy.starts[0]), int(busy.ends[-1])) if len(busy.starts) else nothing
    return dict(zip(ROWS, (computing, communication, subtract(communication, computing), free), strict=True))
