"""The critical path: the chain of nodes that decides when the window ends, found backwards through the binding edges."""

from __future__ import annotations

import numpy as np

from profiler.analysis.graph import GAP_FLOOR, Graph
from profiler.analysis.groups import rises, stretch
from profiler.trace import Array


def on_path(graph: Graph, goals: Array) -> Array:
    """Mask of the nodes on the longest chain to the latest goal, by measured times. goals: of each chain the last will do.

    From a node the path goes to what held it longest: an edge whose source plus weight equals the node's base, else the
    node before it on its chain. Runs without a binding edge are taken in one step.
    """
    mask = np.zeros(len(graph.time), bool)
    if not len(goals):
        return mask
    room = np.take(graph.time, graph.target) - np.take(graph.time, graph.source)
    binding = np.flatnonzero(room == graph.weight + np.take(graph.after, graph.target).astype(np.int64, copy=False))
    via = np.full(len(mask), -1, np.int32)
    via[graph.target[binding]] = graph.source[binding]
    # Where a chain link binds as well, the path stays on its chain: fewer changes, same length.
    room = rises(graph.time)
    room -= graph.after
    held = graph.linked & (room == graph.link)
    del room
    places = np.arange(len(mask), dtype=np.int32)
    places[held] = 0
    stop = np.maximum.accumulate(places, out=places)  # first node of the run that leads here
    node = int(goals[np.argmax(graph.time[stretch(goals)])])
    while node and graph.linked[node] and graph.time[node - 1] == graph.time[node]:  # the first of that moment on its chain
        node -= 1
    origin, held_by = stop.data, via.data  # whose items are numbers of Python at once
    heads, ends = [], []
    while node >= 0:
        head = origin[node]
        heads.append(head)
        ends.append(node)
        node = held_by[head]
    step = np.zeros(len(mask) + 1, np.int8)
    step[heads] = 1
    step[np.array(ends) + 1] -= 1  # no two runs share a node
    np.cumsum(step[:-1], out=step[:-1])
    return step[:-1].view(bool)


def rows(graph: Graph, goals: Array, window: tuple[int, int]) -> list[tuple[str, int]]:
    """The rows on the path that touch the window, as (table, row) in order of their end; each row once.

    A call counts when its beginning or its end is on the path.
    """
    chains = graph.chains
    nodes = np.flatnonzero(on_path(graph, goals) & (graph.time >= window[0]) & (chains.row >= 0))
    nodes = nodes[chains.start_of(nodes) < window[1]]
    nodes = nodes[np.argsort(graph.time[nodes], kind="stable")]
    found = zip(chains.is_task[nodes].tolist(), chains.row[nodes].tolist(), strict=True)
    return list(dict.fromkeys(("task" if task else "api", row) for task, row in found))


def unexplained(graph: Graph, path: Array, window: tuple[int, int]) -> int:
    """Time on the path inside the window that no edge explains, beyond the usual dispatch gap, ns."""
    some = path & (graph.time > window[0]) & (graph.time <= window[1])
    some &= graph.after > 0  # a residual is a part of it
    nodes = np.flatnonzero(some)
    # A chain link carries the usual gap already; what it leaves of the floor is let pass.
    allowed = np.full(len(nodes), max(GAP_FLOOR, graph.gap_floor))
    tasks, _ = graph.chains.tasks_among(nodes)
    allowed[tasks] -= np.take(graph.link, nodes[tasks])
    unexplained = graph.residual_of(nodes)
    unexplained -= np.maximum(allowed, 0, out=allowed)
    return int(unexplained[unexplained > 0].sum())
