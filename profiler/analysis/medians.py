"""The model replay: every cost replaced by the median of its class. Its deviation says how far a replay can be trusted."""

from __future__ import annotations

import numpy as np

from profiler.analysis.draft import Draft
from profiler.analysis.groups import BLOCK, changes, combined, narrow, numbered, room_for, stretch
from profiler.trace import Array

FEW = 4096  # classes up to which one partition each is cheaper than a sort of all values
VERY_FEW = 8  # up to which each is picked out on its own


def to_medians(draft: Draft, nodes: Array) -> None:
    """Set what the given tasks and calls take to class medians.

    Classes: a task by name, shapes and whether something but its stream held it; a call by name, the stretches between calls
    inside it by the names of both. What a program does between its calls is no cost of a kind and stays. A task that only its
    stream held and that yet began late waited for what the profile does not hold, mostly its host: such a gap is no cost of a
    kind either and keeps its measured length. The explained share says how much of the window that is.
    """
    chains = draft.graph.chains
    first, behind = np.searchsorted(nodes, np.array((chains.tasks.start, chains.tasks.stop), nodes.dtype)).tolist()
    calls = nodes[:first] if behind == len(nodes) else np.delete(nodes, slice(first, behind))
    for change, mine in ((_tasks, nodes[first:behind]), (_calls, calls)):
        known = chains.row[stretch(mine)] >= 0
        mine = mine if known.all() else mine[known]
        if len(mine):
            change(draft, mine)


def _tasks(draft: Draft, nodes: Array) -> None:
    graph, task = draft.graph, draft.trace.task
    here = stretch(nodes)
    rows = graph.chains.row[here]
    held = np.zeros(len(graph.time), bool)
    held[graph.target] = True
    held = held[here]
    name, shapes = task.get("name"), task.get("in_shapes")
    known = (name, shapes, task["kind"], task.get("bytes"))
    if name is not None:
        one_after_other = (rows[1:] > rows[:-1]).all()
        taken = stretch(rows) if one_after_other else rows
        classes = combined(*(c[taken] for c in known if c is not None), held)
    else:
        classes = combined(rows, held)
    late = narrow(graph.residual_of(nodes))
    late[held] = 0
    after = np.add(_median(classes, draft.after[here] - late), late, dtype=np.int64)
    draft.after = room_for(draft.after, after)
    draft.after[here] = after


def _calls(draft: Draft, nodes: Array) -> None:
    """Of classes without any cost nothing changes: they are not looked at."""
    chains = draft.graph.chains
    here = stretch(nodes)
    number, count = numbered(draft.trace.api["name"])
    number = number.astype(np.int16 if count < 1 << 13 else np.int32)
    number *= 2
    name = np.take(number, chains.row[here])
    step = np.zeros(len(draft.linked), np.int8)
    step[chains.call_start], step[chains.call_end] = 1, -1  # the moments of each thread sum to 0
    name += step[here] < 0
    after = draft.after[here]
    some = _with_cost(name, after, 2 * count)
    if len(some):
        draft.after[nodes[some]] = _median(name[some], after[some])
    del some
    # Starts of calls that lie in no other call: the program's own code precedes them.
    outer = (np.cumsum(step, dtype=np.int16)[here] == 1) & (step[here] > 0)
    inner = np.flatnonzero(draft.linked[here] & ~outer).astype(np.int32)
    del outer, step
    if not len(inner):
        return
    # The node before one of these is among them, but for the first of a window.
    at, last = np.take(nodes, inner), np.maximum(inner - 1, 0)
    before: Array = np.take(name, last).astype(np.int32 if count < 20_000 else np.int64)
    before[at != np.take(nodes, last) + 1] = 2 * count
    both = before * (2 * count) + np.take(name, inner)
    del before, last, inner, name
    draft.link[at] = _median(both, np.take(draft.link, at))


def _with_cost(name: Array, cost: Array, count: int) -> Array:
    """Places of the names (0 to count - 1) that cost something anywhere."""
    costs = np.zeros(count, bool)
    for begin in range(0, len(name), BLOCK):
        here = slice(begin, begin + BLOCK)
        costs[name[here][cost[here] != 0]] = True
    return np.flatnonzero(np.take(costs, name)).astype(np.int32) if costs.any() else np.zeros(0, np.int32)


def _median(classes: Array, values: Array) -> Array:
    """Per value the median of its class (of two middle ones their mean, so that a class of two keeps its sum)."""
    if not len(values):
        return values
    number, count = numbered(classes)
    if count <= VERY_FEW:
        number = number.astype(np.uint8)
        middles = np.array([_middle(values[number == n]) for n in range(count)], values.dtype)
        return np.take(middles, number)
    if count <= FEW:  # no full sort: a radix sort of the classes, and a partition of each
        number = number.astype(np.uint16)
        ends = np.cumsum(np.bincount(number, minlength=count))
        parts = np.split(np.take(values, np.argsort(number, kind="stable")), ends[:-1])
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
