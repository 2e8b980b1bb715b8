"""PrunePass: nodes and weights that no output of the model depends on are dropped."""

from __future__ import annotations

from typing import Any

NAME = "PrunePass"


def run(proto: Any) -> int:
    """Drop what is not needed; gives the number of nodes that went."""
    graph = proto.graph
    needed = {o.name for o in graph.output}
    idle = []
    for at, node in zip(range(len(graph.node) - 1, -1, -1), reversed(graph.node), strict=True):
        if needed.isdisjoint(node.output):
            idle.append(at)
        else:
            needed.update(_read(node))
    for at in idle:
        del graph.node[at]
    unused = [at for at, t in enumerate(graph.initializer) if t.name not in needed]
    for at in reversed(unused):
        del graph.initializer[at]
    return len(idle)


def _read(node: Any) -> list[str]:
    """Names a node reads; those its subgraphs take from outside are among them."""
    names = list(node.input)
    for attribute in node.attribute:
        for graph in (*((attribute.g,) if attribute.HasField("g") else ()), *attribute.graphs):
            names += [o.name for o in graph.output]
            for inner in graph.node:
                names += _read(inner)
    return names
