"""The model replay: every cost replaced by the median of its class. Its deviation says how far a replay can be trusted."""

from __future__ import annotations

import numpy as np

from profiler.analysis.calls import column
from profiler.analysis.groups import changes, combined, numbered
from profiler.analysis.replay import Draft
from profiler.trace import Array

FEW = 4096  # classes up to which one partition each is cheaper than a sort of all values


def to_medians(draft: Draft, nodes: Array) -> None:
    """Set what the given tasks and calls add, and the host's own time between calls, to class medians.

    Classes: a task by name, shapes and whether a call launched it; a call by name; the time between two moments of a
    thread by the names of both.
    """
    graph, trace = draft.graph, draft.trace
    chains = graph.chains
    nodes = nodes[chains.row[nodes] >= 0]
    tasks = nodes[chains.is_task[nodes]]
    rows = chains.row[tasks]
    launched = np.zeros(len(graph.time), bool)
    launched[graph.target] = True
    if len(rows):
        classes = combined(
            trace.task["name"][rows] if "name" in trace.task else rows,
            column(trace, "task", "in_shapes")[rows],
            trace.task["kind"][rows],
            column(trace, "task", "bytes")[rows],
            launched[tasks],
        )
        draft.after[tasks] = _median(classes, draft.after[tasks])
    hosts = nodes[~chains.is_task[nodes]]
    if len(hosts):
        end = chains.call_end[chains.row[hosts]] == hosts
        name = 2 * trace.api["name"][chains.row[hosts]].astype(np.int32) + end
        names = np.full(len(graph.time), -1, np.int32)
        names[hosts] = name
        draft.after[hosts] = _median(name, draft.after[hosts])
        inner = hosts[draft.linked[hosts]]
        draft.link[inner] = _median(combined(names[inner - 1], names[inner]), draft.link[inner])


def _median(classes: Array, values: Array) -> Array:
    """Per value the median of its class (the lower of two middle ones)."""
    number, count = numbered(classes)
    if count <= FEW:  # no full sort: a radix sort of the classes, and a partition of each
        order = np.argsort(number.astype(np.uint16), kind="stable")
        ends = np.cumsum(np.bincount(number, minlength=count))
        parts = np.split(values[order], ends[:-1])
        middles = np.array([np.partition(p, (len(p) - 1) // 2)[(len(p) - 1) // 2] for p in parts], values.dtype)
        typical: Array = middles[number]
        return typical
    order = np.lexsort((values, classes))
    heads = np.flatnonzero(changes(classes[order]))
    counts = np.diff(np.append(heads, len(order)))
    middle = values[order][heads + (counts - 1) // 2]
    result = np.empty_like(values)
    result[order] = np.repeat(middle, counts)
    return result
