"""Computing, Communication, Communication(Not Overlapped) and Free of a device, as intervals."""

from __future__ import annotations

import numpy as np

from npu import events
from profiler.export import words
from profiler.export.flows import launched_by_communication
from profiler.intervals import Spans, gaps, subtract, union
from profiler.trace import Array, Trace

ROWS = ("Computing", "Communication", "Communication(Not Overlapped)", "Free")


def working(trace: Trace, device: int) -> tuple[Array, Array]:
    """Rows of the device's kernels of all kinds, without those that a communication operator launched; rows of its operators."""
    tasks = ops = np.zeros(0, np.int64)
    if trace.task:
        own = trace.tasks_of(*words.KERNELS) & (trace.task["device"] == device) & ~launched_by_communication(trace)
        tasks = np.flatnonzero(own)
    if trace.comm:
        ops = np.flatnonzero((trace.comm["level"] == events.COMM_LEVELS.index("op")) & (trace.comm["device"] == device))
    return tasks, ops


def overlap(trace: Trace, device: int) -> dict[str, Spans]:
    """The four sets by row name, ns, from the first to the last computing or communication of the device."""
    return overlap_of(trace, *working(trace, device))


def overlap_of(trace: Trace, tasks: Array, ops: Array) -> dict[str, Spans]:
    """The same of some rows. Computing: kernels. Communication: whole operators."""
    nothing = union(np.zeros(0, np.int64), np.zeros(0, np.int64))
    computing = union(trace.task["start"][tasks], trace.task["end"][tasks]) if len(tasks) else nothing
    communication = union(trace.comm["start"][ops], trace.comm["end"][ops]) if len(ops) else nothing
    busy = union(np.concatenate((computing.starts, communication.starts)), np.concatenate((computing.ends, communication.ends)))
    free = gaps(busy, int(busy.starts[0]), int(busy.ends[-1])) if len(busy.starts) else nothing
    return dict(zip(ROWS, (computing, communication, subtract(communication, computing), free), strict=True))
