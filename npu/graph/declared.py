"""Shapes that a file states for its values: taken out before inference, compared with what it finds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def declared_shapes(graph: Any) -> dict[str, tuple[int, ...]]:
    """Take the stored shapes of values and outputs out of the graph (they lie often enough) and give them back, open dims -1."""
    stored = {}
    for value in (*graph.value_info, *graph.output):
        tensor = value.type.tensor_type
        if tensor.HasField("shape"):
            stored[value.name] = tuple(int(d.dim_value) if d.HasField("dim_value") else -1 for d in tensor.shape.dim)
            tensor.ClearField("shape")
    del graph.value_info[:]
    return stored


def complete_outputs(graph: Any, stored: Mapping[str, tuple[int, ...]]) -> None:
    """An output whose rank depends on the data gets the rank the file claimed, all dims open: a valid model states one."""
    for output in graph.output:
        tensor = output.type.tensor_type
        if output.type.HasField("tensor_type") and not tensor.HasField("shape"):
            tensor.shape.SetInParent()
            for _ in stored.get(output.name, ()):
                tensor.shape.dim.add()


def contradictions(graph: Any, stored: Mapping[str, tuple[int, ...]]) -> list[str]:
    """One line for each stored shape that the inferred one refutes, with the node that makes the value."""
    makers = {o: n.name for n in graph.node for o in n.output}
    lines = []
    for value in (*graph.value_info, *graph.output):
        old = stored.get(value.name)
        tensor = value.type.tensor_type
        if old is None or not tensor.HasField("shape") or value.name not in makers:
            continue
        new = tuple(int(d.dim_value) if d.HasField("dim_value") else -1 for d in tensor.shape.dim)
        if len(old) != len(new) or any(a >= 0 and b >= 0 and a != b for a, b in zip(old, new, strict=True)):
            lines.append(
                f"node {makers[value.name]}: the stored shape {list(old)} of {value.name} contradicts "
                f"the inferred shape {list(new)}; the inferred one is used"
            )
    return lines
