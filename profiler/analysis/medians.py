"""The model replay: every cost replaced by the median of its class. Its deviation says how far a replay can be trusted."""

from __future__ import annotations

import numpy as np

from profiler.analysis.calls import column
from profiler.analysis.replay import Draft
from profiler.trace import Array


def to_medians(draft: Draft) -> None:
    """Set what tasks and calls add, and the host's own time between calls, to class medians.

    Classes: a task by name, shapes and whether a call launched it; a call by name; the time between two moments of a
    thread by the names of both.
    """
    graph, trace = draft.graph, draft.trace
    chains = graph.chains
    tasks = np.flatnonzero(chains.is_task & (chains.row >= 0))
    rows = chains.row[tasks]
    launched = np.zeros(len(graph.time), bool)
    launched[graph.target] = True
    if len(rows):
        classes = _classes(
            trace.task["name"][rows] if "name" in trace.task else rows,
            column(trace, "task", "in_shapes")[rows],
            trace.task["kind"][rows],
            column(trace, "task", "bytes")[rows],
            launched[tasks],
        )
        draft.after[tasks] = _median(classes, draft.after[tasks])
    hosts = np.flatnonzero(~chains.is_task & (chains.row >= 0))
    if len(hosts):
        end = chains.call_end[chains.row[hosts]] == hosts
        name = 2 * trace.api["name"][chains.row[hosts]].astype(np.int64) + end
        names = np.full(len(graph.time), -1, np.int64)
        names[hosts] = name
        draft.after[hosts] = _median(name, draft.after[hosts])
        inner = hosts[draft.linked[hosts]]
        draft.link[inner] = _median(_classes(names[inner - 1], names[inner]), draft.link[inner])


def _classes(*columns: Array) -> Array:
    """One number per distinct combination of values."""
    number = np.zeros(len(columns[0]), np.int64)
    for values in columns:
        _, position = np.unique(values, return_inverse=True)
        number = np.unique(number * (int(position.max(initial=0)) + 1) + position, return_inverse=True)[1]
    return number


def _median(classes: Array, values: Array) -> Array:
    """Per value the median of its class (the lower of two middle ones)."""
    order = np.lexsort((values, classes))
    sorted_ = classes[order]
    heads = np.flatnonzero(np.concatenate(([True], sorted_[1:] != sorted_[:-1])))
    counts = np.diff(np.append(heads, len(sorted_)))
    middle = values[order][heads + (counts - 1) // 2]
    result = np.empty_like(values)
    result[order] = np.repeat(middle, counts)
    return result
