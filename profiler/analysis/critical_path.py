"""The critical path: the chain of nodes that decides when the window ends, found backwards through the binding edges."""

from __future__ import annotations

import numpy as np

from profiler.analysis.graph import GAP_FLOOR, Graph
from profiler.trace import Array


def on_path(graph: Graph, goals: Array) -> Array:
    """Mask of the nodes on the longest chain to the latest goal, by measured times.

    From a node the path goes to what held it longest: an edge whose source plus weight equals the node's base, else the
    node before it on its chain. Runs without a binding edge are taken in one step.
    """
    count = len(graph.time)
    mask = np.zeros(count + 1, np.int64)
    if not len(goals):
        return mask[:-1].astype(bool)
    base = graph.time - graph.after
    binding = np.flatnonzero(graph.time[graph.source] + graph.weight == base[graph.target])
    via = np.full(count, -1, np.int64)
    via[graph.target[binding]] = graph.source[binding]
    # Where a chain link binds as well, the path stays on its chain: fewer changes, same length.
    held = np.zeros(count, bool)
    held[1:] = graph.linked[1:] & (graph.time[:-1] + graph.link[1:] == base[1:])
    via[held] = -1
    stop = np.maximum.accumulate(np.where(held, 0, np.arange(count)))  # first node of the run that leads here
    node = int(goals[np.argmax(graph.time[goals])])
    while True:
        head = int(stop[node])
        mask[head] += 1
        mask[node + 1] -= 1
        if via[head] < 0:
            break
        node = int(via[head])
    return np.cumsum(mask[:-1]) > 0


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
    inside = path & (graph.time > window[0]) & (graph.time <= window[1])
    # A chain link carries the usual gap already; what it leaves of the floor is let pass.
    allowed = np.maximum(max(GAP_FLOOR, graph.gap_floor) - np.where(graph.chains.is_task, graph.link, 0)[inside], 0)
    return int(np.maximum(graph.residual_of(np.flatnonzero(inside)) - allowed, 0).sum())
