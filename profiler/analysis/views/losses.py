"""What the capture lost (view V19): launches without device rows, device rows without launches, empty steps, dropped rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from npu import events
from profiler.analysis.calls import column
from profiler.analysis.views.basis import Basis
from profiler.trace import Array


class Lost(NamedTuple):
    """launched: kernel launches seen on the host of one operator, kernels: of them with a device row."""

    name: str
    launched: int
    kernels: int


class Losses(NamedTuple):
    """launched: launch calls (level node, with a correlation id). launches: of them those that no task answers. by_name: per
    operator, only operators that lost some. steps: ids of marked steps that launch work and have no device row. orphans:
    kernels no call explains although calls were recorded. dropped: rows the recorder says it lost. rank_assumed: the source
    names no rank."""

    launched: int
    launches: int
    by_name: tuple[Lost, ...]
    steps: tuple[int, ...]
    orphans: int
    dropped: int
    rank_assumed: bool


def losses(basis: Basis) -> Losses:
    """Over the whole trace, not the window: losses decide what the window may be."""
    trace, launches = basis.trace, basis.launches
    kernels = trace.tasks_of("kernel", "aicpu")
    linked = bool((launches.row >= 0).any())
    calls = _launch_calls(basis) if linked or not trace.task else np.zeros(0, np.int64)
    lost = calls[(launches.first[calls] < 0) & ~_of_collectives(basis, calls)]
    orphans = int((kernels & (launches.row < 0)).sum()) if linked else 0
    dropped = trace.meta.get("lost", 0)
    return Losses(
        len(calls),
        len(lost),
        _by_name(basis, calls),
        _empty_steps(basis, calls),
        orphans,
        sum(dropped.values()) if isinstance(dropped, dict) else dropped if isinstance(dropped, int) else 0,
        trace.meta.get("rank") is None,
    )


def _launch_calls(basis: Basis) -> Array:
    """Api rows that launch a kernel: of level node with an id that answers, where some such row is answered."""
    trace = basis.trace
    if not trace.api:
        return np.zeros(0, np.int64)
    node = trace.api["level"] == events.LEVELS.index("node")
    return np.flatnonzero(node & (column(trace, "api", "correlation") >= 0) & np.isin(trace.api["name"], _launch_names(basis)))


def _of_collectives(basis: Basis, calls: Array) -> Array:
    """Mask: a collective, which is a row of the comm table, carries the id of the call."""
    known = basis.trace.comm.get("correlation")
    if known is None:
        return np.zeros(len(calls), bool)
    found: Array = np.isin(column(basis.trace, "api", "correlation")[calls], known[known >= 0])
    return found


def _launch_names(basis: Basis) -> Array:
    """Names of node-level calls of which at least one has a task: a tiling or a query has none and is no launch."""
    trace = basis.trace
    answered = np.flatnonzero((trace.api["level"] == events.LEVELS.index("node")) & (basis.launches.first >= 0))
    return np.unique(trace.api["name"][answered])


def _by_name(basis: Basis, calls: Array) -> tuple[Lost, ...]:
    """Launches against kernels per operator, where the launching row names it (column item), else all together."""
    trace, launches = basis.trace, basis.launches
    item = trace.api.get("item")
    names = item[calls] if item is not None else np.full(len(calls), -1)
    made = []
    for name in np.unique(names).tolist():
        mine = calls[names == name]
        answered = int(((launches.first[mine] >= 0) | _of_collectives(basis, mine)).sum())
        if answered < len(mine):
            made.append(Lost(trace.strings[int(name)] or _likely(basis, mine), len(mine), answered))
    return tuple(sorted(made, key=lambda lost: (lost.kernels - lost.launched, lost.name)))


def _likely(basis: Basis, calls: Array) -> str:
    """Operator type of the kernels the calls did launch, where all are of one type; "" else."""
    first = basis.launches.first[calls]
    kinds = np.unique(column(basis.trace, "task", "op_type")[first[first >= 0]])
    if len(kinds) == 1 and kinds[0] >= 0:
        return basis.trace.strings[int(kinds[0])]
    names = np.unique(column(basis.trace, "task", "name")[first[first >= 0]])
    return basis.trace.strings[int(names[0])] if len(names) == 1 else ""


def _empty_steps(basis: Basis, calls: Array) -> tuple[int, ...]:
    """Marked steps for which no device row was launched and in which none begins, where others have some."""
    trace, steps = basis.trace, basis.steps
    if steps.kind != "marker" or not trace.task:
        return ()
    count = len(steps.starts)
    inside = steps.of(basis.launches.time)
    rows = np.bincount(inside[inside >= 0], minlength=count)
    if not rows.any():
        return ()
    begun = steps.of(trace.task["start"])  # launched ahead in an earlier step, worked off in this one
    at = steps.of(trace.api["start"][calls]) if len(calls) else np.zeros(0, np.int64)
    launched = np.bincount(at[at >= 0], minlength=count)
    empty = (rows == 0) & (np.bincount(begun[begun >= 0], minlength=count) == 0) & ((launched > 0) | (np.median(rows) > 0))
    return tuple(int(i) for i in steps.ids[empty])
