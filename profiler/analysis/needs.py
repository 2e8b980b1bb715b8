"""What rules need of a trace: a test, what to call it when it is missing, and the switch that collects it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from profiler.analysis.context import Context
from profiler.trace import Array, Trace


class Need(NamedTuple):
    """id: of its name in texts (table need). switch: how to collect it with msprof, or with the framework's profiler."""

    id: str
    there: Callable[[Context], bool]
    switch: str


def _known(column: Array | None) -> bool:
    """True when some row has a value."""
    return column is not None and bool(len(column)) and bool((np.nan_to_num(column, nan=-1) >= 0).any())


def _cache(context: Context) -> bool:
    """True when some access to the L2 cache was counted: as a counter of a kernel, or in the table of its own."""
    rates = context.trace.meta.get("tables", {}).get("l2_cache", {}).get("hit_rate", ())
    counted = [n for n in context.trace.task if n.endswith("_cache_hit")]
    return any(rate is not None for rate in rates) or any(_known(context.trace.task[n]) for n in counted)


def _of_kernels(test: Callable[[Context], bool]) -> Callable[[Context], bool]:
    """A test of what is known of kernels; where none ran nothing is missing."""
    return lambda context: test(context) or not_one_kernel(context.trace)


def _column(name: str) -> Callable[[Context], bool]:
    return _of_kernels(lambda context: _known(context.trace.task.get(name)))


def _counter(ending: str) -> Callable[[Context], bool]:
    return _of_kernels(lambda c: any(_known(c.trace.task[n]) for n in c.trace.task if n.endswith(ending)))


def not_one_kernel(trace: Trace) -> bool:
    """Whether tasks were recorded and none of them is a kernel."""
    return bool(trace.task) and not trace.tasks_of("kernel", "aicpu").any()


def _own(context: Context) -> bool:
    return context.trace.meta.get("generator") == "npuscope"


TASKS = Need("tasks", lambda c: bool(c.trace.task), "--task-time=l1")
CALLS = Need("calls", lambda c: c.called, "--ascendcl=on")
LAUNCHES = Need("launches", lambda c: bool((c.launches.row >= 0).any()), "--ascendcl=on --task-time=l1")
OPERATORS = Need("operators", _column("op_type"), "--task-time=l1 (profiler_level Level1)")
SHAPES = Need("shapes", _column("in_shapes"), "--task-time=l1 (profiler_level Level1)")
FORMATS = Need("formats", _column("in_formats"), "--task-time=l1 (profiler_level Level1)")
# An own capture tells these of everything that has them: where none does, there was none.
HOST_MEMORY = Need(
    "host_memory",
    lambda c: _known(c.trace.api.get("host_kind")) or _known(c.trace.task.get("host_kind")) or _own(c),
    "msprof run",
)
BUFFERS = Need("buffers", lambda c: _known(c.trace.task.get("reads")) or _own(c), "msprof run")
MARKERS = Need("markers", lambda c: bool(c.trace.marker) or _own(c), "the framework's profiler (cpu activities)")
STEP_MARKERS = Need("steps", lambda c: c.steps.kind == "marker" or _own(c), "the framework's profiler (step())")

# A single device has no collectives to record.
COLLECTIVES = Need("collectives", lambda c: bool(c.trace.comm) or c.trace.meta.get("world_size", 1) in (0, 1), "--hccl=on")
COLLECTIVE_PARTS = Need(
    "collective_parts",
    lambda c: bool(c.collectives.known.any()) or not len(c.collectives.row),
    "--hccl=on --task-time=l1 (profiler_level Level1)",
)
COUNTERS = Need("counters", _counter("_ratio"), "--aic-metrics=PipeUtilization")
CONFLICTS = Need("conflicts", _counter("_cflt_ratio"), "--aic-metrics=ResourceConflictRatio")
CACHE = Need("cache", _of_kernels(_cache), "--l2=on, or --aic-metrics=L2Cache")
CLOCK = Need("clock", _of_kernels(lambda c: bool(c.views.clocks)), "msprof's time line (msprof_*.json: AI Core Freq)")
MEMORY = Need("memory", lambda c: bool(c.trace.memory) or _own(c), "--task-memory=on (profile_memory)")


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
