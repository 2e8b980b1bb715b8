"""The five lines a report begins with, in the articles' order: each layer is fine, has findings, or was not measured and why."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from profiler.analysis.context import Context
from profiler.analysis.judge import edits_of, weight
from profiler.analysis.needs import not_one_kernel
from profiler.findings import LAYERS, Checked, Finding
from profiler.trace import Columns


def _known(values: object) -> bool:
    return isinstance(values, np.ndarray) and len(values) > 0 and bool((values >= 0).any())


def _graph(context: Context) -> tuple[str, str]:
    if not_one_kernel(context.trace):
        return "no kernel ran", ""
    return ("", "") if _known(context.trace.task.get("op_type")) else ("no operator types were recorded", "--task-time=l1")


def _host(context: Context) -> tuple[str, str]:
    return ("", "") if context.called else ("no host calls were recorded", "--ascendcl=on")


def _copy(context: Context) -> tuple[str, str]:
    trace = context.trace
    seen = trace.tasks_of("copy", "memset").any() or _known(trace.api.get("direction"))
    return (
        ("", "")
        if seen or (trace.api and trace.task)
        else ("neither copies nor host calls were recorded", "--task-time=l1 --ascendcl=on")
    )


def _operator(context: Context) -> tuple[str, str]:
    task = context.trace.task
    if not_one_kernel(context.trace):
        return "no kernel ran", ""
    counters = [n for n in task if n.endswith(("_ratio", "_rate"))]
    return (
        ("", "")
        if any(_measured(task, n) for n in counters)
        else ("no AI Core counters were recorded", "--aic-metrics=PipeUtilization")
    )


def _measured(task: Columns, name: str) -> bool:
    """Whether some row has a counter other than 0."""
    lookup = task.lookup(name)
    if lookup is None:
        return bool(np.nan_to_num(task[name]).any())
    return bool(np.take(np.nan_to_num(lookup.values) != 0, lookup.index).any())


def _communication(context: Context) -> tuple[str, str]:
    if context.trace.comm:
        return "", ""
    world = context.trace.meta.get("world_size", 1)
    return (
        ("no collectives were recorded", "--hccl=on")
        if isinstance(world, int) and world > 1
        else ("only one rank ran, without collectives", "")
    )


NEEDS: dict[str, Callable[[Context], tuple[str, str]]] = {
    "graph": _graph,
    "host": _host,
    "copy": _copy,
    "operator": _operator,
    "communication": _communication,
}


def checklist(context: Context, findings: Sequence[Finding], judged: Sequence[str]) -> tuple[Checked, ...]:
    """One line per layer. `judged`: layers at least one rule looks at. Reasons are English and the keys
    of other languages; a layer's time is the gain of its findings replayed together."""
    lines = []
    for layer in LAYERS:
        mine = [f for f in findings if f.layer == layer and not f.cause]
        why, switch = NEEDS[layer](context)
        if mine:
            lines.append(Checked(layer, "findings", len(mine), layer_gain(context, mine)))
        elif why:
            lines.append(Checked(layer, "not_measured", why=why, switch=switch))
        elif layer not in judged:
            lines.append(Checked(layer, "not_measured", why="no rule of this version judges it"))
        else:
            lines.append(Checked(layer, "fine"))
    return tuple(lines)


def layer_gain(context: Context, findings: Sequence[Finding]) -> int:
    """Gain of the findings of a layer, replayed together, ns; on all ranks alike where others hold this one."""
    if len(findings) == 1:
        return weight(findings[0])
    return max(0, context.gain(edits_of(findings), alike=context.held))
