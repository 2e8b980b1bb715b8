"""What rules need of a trace: a test, what to call it when it is missing, and the switch that collects it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from profiler.analysis.context import Context
from profiler.trace import Array


class Need(NamedTuple):
    """id: of its name in texts (table need). switch: how to collect it with msprof, or with the framework's profiler."""

    id: str
    there: Callable[[Context], bool]
    switch: str


def _known(column: Array | None) -> bool:
    """True when some row has a value."""
    return column is not None and bool(len(column)) and bool((np.nan_to_num(column, nan=-1) >= 0).any())


def _own(context: Context) -> bool:
    return context.trace.meta.get("generator") == "npuscope"


TASKS = Need("tasks", lambda c: bool(c.trace.task), "--task-time=l1")
CALLS = Need("calls", lambda c: bool(c.trace.api), "--ascendcl=on")
LAUNCHES = Need("launches", lambda c: bool((c.launches.row >= 0).any()), "--ascendcl=on --task-time=l1")
OPERATORS = Need("operators", lambda c: _known(c.trace.task.get("op_type")), "--task-time=l1 (profiler_level Level1)")
SHAPES = Need("shapes", lambda c: _known(c.trace.task.get("in_shapes")), "--task-time=l1 (profiler_level Level1)")
FORMATS = Need("formats", lambda c: _known(c.trace.task.get("in_formats")), "--task-time=l1 (profiler_level Level1)")
# An own capture tells these of everything that has them: where none does, there was none.
HOST_MEMORY = Need(
    "host_memory",
    lambda c: _known(c.trace.api.get("host_kind")) or _known(c.trace.task.get("host_kind")) or _own(c),
    "msprof run",
)
BUFFERS = Need("buffers", lambda c: _known(c.trace.task.get("reads")) or _own(c), "msprof run")
MARKERS = Need("markers", lambda c: bool(c.trace.marker) or _own(c), "the framework's profiler (cpu activities)")
STEP_MARKERS = Need("steps", lambda c: c.steps.kind == "marker" or _own(c), "the framework's profiler (step())")


def unmet(context: Context, rules: Iterable[tuple[str, tuple[Need, ...]]]) -> list[tuple[Need, list[str]]]:
    """Needs that are not met, each with the ids of the rules that lack it. A rule counts under its first unmet need."""
    found: dict[str, tuple[Need, list[str]]] = {}
    known: dict[str, bool] = {}
    for rule, needs in rules:
        for need in needs:
            if need.id not in known:
                known[need.id] = need.there(context)
            if not known[need.id]:
                found.setdefault(need.id, (need, []))[1].append(rule)
                break
    return list(found.values())
