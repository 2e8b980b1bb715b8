"""Walks over a GraphProto with everything inside it: branches and loop bodies are graphs of their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def graphs(graph: Any) -> Iterator[Any]:
    """A graph and all graphs inside its nodes."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for inner in (*((attribute.g,) if attribute.HasField("g") else ()), *attribute.graphs):
                yield from graphs(inner)


def nodes(graph: Any) -> Iterator[Any]:
    """All nodes, those of subgraphs too: they may read any value around them."""
    for inner in graphs(graph):
        yield from inner.node


def rename(graph: Any, old: str, new: str) -> None:
    """Rename a value where it is made and read, in subgraphs too."""
    for node in nodes(graph):
        for names in (node.input, node.output):
            for at, name in enumerate(names):
                if name == old:
                    names[at] = new
