"""ReluFusionPass: what is a Relu in other words becomes one: the maximum with zero, a clip from zero without an upper bound."""

from __future__ import annotations

from typing import Any

from npu.graph.passes.base import Outcome, Work
from npu.graph.passes.fusing import shape
from npu.graph.passes.matcher import constant
from npu.patterns import named

NAME = named("ReluFusionPass").name


def run(work: Work) -> Outcome:
    import onnx_ir as ir

    outcome = Outcome()
    for node in list(work.graph):
        value = _source(node)
        if value is None:
            continue
        outcome.matched += 1
        if shape(node.outputs[0]) is None or shape(value) != shape(node.outputs[0]):
            outcome.refuse(NAME, node, f"{value.name} and {node.outputs[0].name} have no fixed shape in common")
            continue
        made = ir.Node("", "Relu", [value], name=node.name, metadata_props=dict(node.metadata_props))
        ir.convenience.replace_nodes_and_values(work.graph, node, [node], [made], [node.outputs[0]], [made.outputs[0]])
        outcome.effected += 1
    return outcome


def _source(node: Any) -> Any:
    """What a node is the Relu of; None where it is none."""
    if node.domain:
        return None
    if node.op_type == "Max" and len(node.inputs) == 2:
        for value, other in (node.inputs, node.inputs[::-1]):
            array = constant(other)
            if value is not None and array is not None and array.size == 1 and array.dtype.kind == "f" and not array.any():
                return value
    if node.op_type == "Clip" and node.inputs[0] is not None:
        least, most = (_bound(node, at, name) for at, name in ((1, "min"), (2, "max")))
        if least == 0.0 and (most is None or most >= 3e38):
            return node.inputs[0]
    return None


def _bound(node: Any, at: int, name: str) -> float | None:
    """A bound of a clip; None without one, NaN for one that is not constant."""
    if len(node.inputs) > at and node.inputs[at] is not None:
        array = constant(node.inputs[at])
        return float(array.reshape(-1)[0]) if array is not None and array.size == 1 else float("nan")
    value = node.attributes.get_float(name, None)
    return None if value is None else float(value)
