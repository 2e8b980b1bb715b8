"""The model replay: every cost replaced by the median of its class. Its deviation says how far a replay can be trusted."""

from __future__ import annotations

import numpy as np

from profiler.analysis.draft import Draft
from profiler.analysis.groups import changes, combined, numbered
from profiler.trace import Array

FEW = 4096  # classes up to which one partition each is cheaper than a sort of all values


def to_medians(draft: Draft, nodes: Array) -> None:
    """Set what the given tasks and calls take to class medians.

    Classes: a task by name, shapes and whether something but its stream held it; a call by name, the stretches between calls
    inside it by the names of both. What a program does between its calls is no cost of a kind and stays. A task that only its
    stream held and that yet began late waited for what the profile does not hold, mostly its host: such a gap is no cost of a
    kind either and keeps its measured length. The explained share says how much of the window that is.
    """
    chains = draft.graph.chains
    known = np.take(chains.row, nodes) >= 0
    tasks = (nodes >= chains.tasks.start) & (nodes < chains.tasks.stop)
    for change, mask in ((_tasks, known & tasks), (_calls, known & ~tasks)):
        if mask.any():
            change(draft, nodes[mask])


def _tasks(draft: Draft, nodes: Array) -> None:
    graph, task = draft.graph, draft.trace.task
    rows = np.take(graph.chains.row, nodes)
    held = np.zeros(len(graph.time), bool)
    held[graph.target] = True
    held = np.take(held, nodes)
    name, shapes = task.get("name"), task.get("in_shapes")
    known = (name, shapes, task["kind"], task.get("bytes"))
    classes = combined(*(np.take(c, rows) for c in known if c is not None), held) if name is not None else combined(rows, held)
    late = graph.residual_of(nodes)
    late[held] = 0
    cost = np.take(draft.after, nodes) - late
    draft.after[nodes] = _median(classes, cost) + late


def _calls(draft: Draft, nodes: Array) -> None:
    """Of classes without any cost nothing changes: they are not looked at."""
    chains = draft.graph.chains
    rows = np.take(chains.row, nodes)
    name, count = numbered(np.take(draft.trace.api["name"], rows))
    name = name.astype(np.int16 if count < 1 << 13 else np.int32)
    name *= 2
    name += np.take(chains.call_end, rows) == nodes
    del rows
    after = np.take(draft.after, nodes)
    some = np.flatnonzero(np.take(np.bincount(name[after != 0], minlength=2 * count) > 0, name))
    draft.after[nodes[some]] = _median(name[some], after[some])
    del after, some
    linked = np.take(draft.linked, nodes) & ~_after_own_code(draft, nodes)
    # The node before one of these is among them, but for the first of a window.
    before = np.full(len(nodes), 2 * count, name.dtype)
    np.copyto(before[1:], name[:-1], where=np.diff(nodes) == 1)
    both = before[linked] * (np.int32 if count < 20_000 else np.int64)(2 * count) + name[linked]
    inner = nodes[linked]
    del before, name, linked
    draft.link[inner] = _median(both, np.take(draft.link, inner))


def _after_own_code(draft: Draft, nodes: Array) -> Array:
    """Mask: starts of calls that lie in no other call, so that the program's own code precedes them."""
    chains = draft.graph.chains
    step = np.zeros(len(draft.linked), np.int8)
    step[chains.call_start], step[chains.call_end] = 1, -1  # the moments of each thread sum to 0
    starts = np.take(step, nodes) == 1
    outer: Array = (np.take(np.cumsum(step, dtype=np.int32), nodes) == 1) & starts
    return outer


def _median(classes: Array, values: Array) -> Array:
    """Per value the median of its class (of two middle ones their mean, so that a class of two keeps its sum)."""
    if not len(values):
        return values
    number, count = numbered(classes)
    if count <= FEW:  # no full sort: a radix sort of the classes, and a partition of each
        number = number.astype(np.uint16)
        order = np.argsort(number, kind="stable")
        ends = np.cumsum(np.bincount(number, minlength=count))
        parts = np.split(np.take(values, order), ends[:-1])
        middles = np.array([_middle(p) for p in parts], values.dtype)
        typical: Array = np.take(middles, number)
        return typical
    order = np.lexsort((values, classes))
    heads = np.flatnonzero(changes(classes[order]))
    counts = np.diff(np.append(heads, len(order)))
    low, high = values[order][heads + (counts - 1) // 2], values[order][heads + counts // 2]
    result = np.empty_like(values)
    result[order] = np.repeat((low.astype(np.int64) + high) // 2, counts)
    return result


def _middle(values: Array) -> int:
    low, high = (len(values) - 1) // 2, len(values) // 2
    found = np.partition(values, (low, high))
    return (int(found[low]) + int(found[high])) // 2
