"""What the rules on launches share: kernels that were launched one by one, in steps, and the edit that makes one launch of
them."""

from __future__ import annotations

import numpy as np

from profiler.analysis.calls import column
from profiler.analysis.context import Context
from profiler.analysis.edits import OneLaunch
from profiler.analysis.groups import changes, sort_by
from profiler.trace import Array

LIBRARY_MOST = 8  # kernels of one call of the operator library: a convolution's with its changes of format, a gradient's
GE_GAP = 600  # ns between kernels of one launch (measured kernel_details: 0.5-0.7 us)


def own_launches(context: Context) -> Array:
    """Kernel rows of the window that belong to no model and whose call launched one operator, by thread and launch time."""
    rows = context.basis.kernels()
    call = context.launches.row[rows]
    alone = (call >= 0) & (column(context.trace, "task", "model")[rows] < 0)
    rows, call = rows[alone], call[alone]
    single = context.launches.kernels[call] <= LIBRARY_MOST
    rows, call = rows[single], call[single]
    api = context.trace.api
    if not len(rows):
        return np.zeros(0, np.int64)
    ordered: Array = rows[sort_by(np.take(api["thread"], call), np.take(api["start"], call))]
    return ordered


def by_step(context: Context, rows: Array) -> list[Array]:
    """Launched kernels by (thread, step), in order of launch; the whole window is one step where there are none."""
    if not len(rows):
        return []
    call = context.launches.row[rows]
    thread = context.trace.api["thread"][call].astype(np.int64)
    step = context.steps.of(context.launches.time[rows]) if len(context.steps.starts) else np.zeros(len(rows), np.int64)
    order = sort_by(thread, step, np.take(context.launches.time, rows))
    changes = (np.diff(step[order]) != 0) | (np.diff(thread[order]) != 0)
    return [rows[part] for part in np.split(order, np.flatnonzero(changes) + 1)]


def one_launch(context: Context, groups: list[Array]) -> tuple[OneLaunch, ...]:
    """The kernels of each group in one launch."""
    calls = [context.launches.row[group] for group in groups if len(group) > 1]
    return tuple(OneLaunch(some[changes(some)], GE_GAP) for some in calls)


def same_sequence(context: Context, groups: list[Array]) -> bool:
    """True when most groups launch the same kernels in the same order (by operator type, else name)."""
    if len(groups) < 2:
        return False
    name = "op_type" if "op_type" in context.trace.task else "name"
    sequences = [column(context.trace, "task", name)[g].tobytes() for g in groups]
    return max(sequences.count(s) for s in set(sequences)) > len(sequences) / 2


def waits_for_launches(context: Context, rows: Array) -> int:
    """Time the device has nothing to do before kernels of these rows because their call returned only after the kernel before had
    ended, ns. Unlike view V6 it counts single kernels, so a long kernel between short ones ends nothing."""
    task, api = context.trace.task, context.trace.api
    every = context.basis.kernels()
    device = np.take(task["device"], every)
    order = sort_by(device)
    every, device = every[order], device[order]
    ended = np.maximum.accumulate(np.take(task["end"], every).astype(np.int64))  # devices in turn: only pairs of one device count
    gap = np.take(task["start"], every)[1:] - ended[:-1]
    mine = np.zeros(len(task), bool)
    mine[rows] = True
    late = np.flatnonzero((device[1:] == device[:-1]) & (gap > GE_GAP))
    late = late[np.take(mine, every[late + 1])]
    call = np.take(context.launches.row, every[late + 1])
    late = late[np.take(api["end"], call) > ended[late]]
    return int((gap[late] - GE_GAP).sum())
