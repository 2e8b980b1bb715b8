"""PrunePass: nodes and weights that no output of the model depends on are dropped."""

from __future__ import annotations

from typing import Any

NAME = "PrunePass"


def run(proto: Any) -> int:
    """Drop what is not needed; gives the number of nodes that went."""
    graph = proto.graph
    needed = {o.name for o in graph.output}
    kept = []
    for node in reversed(graph.node):
        if needed.isdisjoint(node.output):
            continue
        kept.append(node)
        needed |= set(_read(node))
    removed = len(graph.node) - len(kept)
    if removed:
        copies = [type(n).FromString(n.SerializeToString()) for n in reversed(kept)]
        del graph.node[:]
        graph.node.extend(copies)
    unused = [at for at, t in enumerate(graph.initializer) if t.name not in needed]
    for at in reversed(unused):
        del graph.initializer[at]
    return removed


def _read(node: Any) -> list[str]:
    """Names a node reads; those its subgraphs take from outside are among them."""
    names = list(node.input)
    for attribute in node.attribute:
        for graph in (*((attribute.g,) if attribute.HasField("g") else ()), *attribute.graphs):
            names += [o.name for o in graph.output]
            for inner in graph.node:
                names += _read(inner)
    return names
