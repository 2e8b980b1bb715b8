"""Small edits of the graph that several passes make: a new weight, a value in the place of another, a node taken out."""

from __future__ import annotations

from typing import Any

from npu.graph.passes.base import Outcome

NAMES = "npu.names"  # what a graph keeps for as long as it is worked on


def unused(graph: Any, name: str) -> str:
    """That name, or with a number behind it when the graph already has such a value."""
    taken = graph.meta.get(NAMES)
    if taken is None:  # collected once: passes name new values only here
        taken = set(graph.initializers) | {v.name for v in graph.inputs} | {o.name for n in graph for o in n.outputs}
        graph.meta[NAMES] = taken
    candidate, number = name, 1
    while candidate in taken:
        number += 1
        candidate = f"{name}_{number}"
    taken.add(candidate)
    return candidate


def weight(graph: Any, name: str, array: Any, dtype: Any = None) -> Any:
    """A new constant of the graph."""
    import numpy as np
    import onnx_ir as ir

    tensor = ir.Tensor(np.asarray(array))
    value = ir.Value(
        name=unused(graph, name), const_value=tensor, shape=ir.Shape(array.shape), type=ir.TensorType(dtype or tensor.dtype)
    )
    tensor.name = value.name
    graph.register_initializer(value)
    return value


def set_input(node: Any, at: int, value: Any) -> None:
    """Replace an input; inputs that were left out before it become so explicitly."""
    if len(node.inputs) <= at:
        node.resize_inputs(at + 1)
    node.replace_input_with(at, value)


def take_out(graph: Any, node: Any, keeper: Any, merged_into: Any = None) -> None:
    """Remove a node; `keeper`, a value with the same content, takes over the name and the place of its first result.

    merged_into: the node that does its work from now on, named as its origin.
    """
    import onnx_ir as ir

    if merged_into is not None:
        note(merged_into, node)
    if keeper.producer() is None or keeper.is_graph_output():  # an input, a weight or an output keeps its own name
        node.outputs[0].replace_all_uses_with(keeper)
        graph.remove(node, safe=True)
        return
    if node.outputs[0].is_graph_output():
        ir.convenience.replace_nodes_and_values(graph, node, [node], [], [node.outputs[0]], [keeper])
        return
    node.outputs[0].replace_all_uses_with(keeper)
    graph.remove(node, safe=True)


def removable(node: Any, keeper: Any) -> str:
    """Why take_out cannot remove a node: an output of the model needs a node that makes it. "" when it can."""
    if not node.outputs[0].is_graph_output():
        return ""
    if keeper.producer() is None or keeper.is_graph_output():
        return f"{node.outputs[0].name} is an output of the model"
    return ""


def drop(graph: Any, outcome: Outcome, fusion: str, node: Any, keeper: Any) -> bool:
    """take_out as a place the pass has matched: done where it can be, refused with the reason where not."""
    outcome.matched += 1
    reason = removable(node, keeper)
    if reason:
        outcome.refuse(fusion, node, reason)
        return False
    take_out(graph, node, keeper)
    outcome.effected += 1
    return True


def remove_unread(graph: Any, node: Any) -> None:
    """Remove a node when nobody reads its results any more."""
    if not any(o.uses() or o.is_graph_output() for o in node.outputs):
        graph.remove(node, safe=True)


def note(kept: Any, gone: Any) -> None:
    """Say in the kept node that it also does the other's work."""
    origins = [n.metadata_props.get("npu.origin", n.name) for n in (kept, gone)]
    kept.metadata_props["npu.origin"] = "+".join(str(o) for o in origins)
