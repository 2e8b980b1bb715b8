"""Collectives of GPU timelines: there each is a kernel of NCCL or RCCL, which does no computing."""

from __future__ import annotations

import numpy as np

from npu import events
from profiler.trace import Columns, Strings

BEGINNINGS = ("nccl", "rccl")  # ncclDevKernel_AllReduce_Sum_f32_RING_LL, ncclKernel_SendRecv_RING_Simple
KEPT = ("start", "end", "name", "device", "stream", "correlation")


def apart(task: Columns, strings: Strings) -> tuple[Columns, Columns]:
    """(the tasks without kernels of collectives, these as operators of communication); the same table where there are none."""
    if not task:
        return task, Columns()
    named = strings.flags(lambda text: text.startswith(BEGINNINGS))[task["name"]]
    mine = np.flatnonzero(named & (task["kind"] == events.KINDS.index("kernel")))
    if not len(mine):
        return task, Columns()
    rows = {n: task[n][mine] for n in KEPT if n in task}
    rows["level"] = np.full(len(mine), events.COMM_LEVELS.index("op"), np.int8)
    rows["part"] = np.full(len(mine), -1, np.int8)
    rest = np.ones(len(task), bool)
    rest[mine] = False
    return task.take(np.flatnonzero(rest)), Columns(rows)
