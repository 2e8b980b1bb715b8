"""ABatchnormFusionPass: a normalisation written out behind a convolution, (y - mean) / deviation * scale + bias, goes into the
filter: what is taken off is added negated, what divides multiplies as its inverse, and both are folded where they can be."""

from __future__ import annotations

from typing import Any

from npu.graph.passes import conv_scale
from npu.graph.passes.base import Outcome, Work
from npu.graph.passes.matcher import is_constant
from npu.graph.passes.rewriting import weight
from npu.patterns import named

NAME = named("ABatchnormFusionPass").name
PARTS = {"Sub": "Add", "Div": "Mul"}
CHAIN = ("Add", "Mul")  # what may stand between the convolution and the part


def run(work: Work) -> Outcome:
    outcome = Outcome()
    for node in list(work.graph):
        if node.op_type not in PARTS or node.domain or not _behind_convolution(node.inputs[0]) or not is_constant(node.inputs[1]):
            continue
        outcome.matched += 1
        reason = refusal(node)
        if reason:
            outcome.refuse(NAME, node, reason)
            continue
        _rewrite(work.graph, node)
        conv = node.inputs[0].producer()
        if conv.op_type == "Conv" and not conv_scale.refusal(conv, node, node.inputs[1]):
            conv_scale.fold(work.graph, conv, node, node.inputs[1])
        outcome.effected += 1
    return outcome


def _behind_convolution(value: Any) -> bool:
    while value is not None and (maker := value.producer()) is not None and not maker.domain:
        if maker.op_type == "Conv":
            return True
        if maker.op_type not in CHAIN or not is_constant(maker.inputs[1]):
            return False
        value = maker.inputs[0]
    return False


def refusal(node: Any) -> str:
    array = node.inputs[1].const_value.numpy()
    if array.dtype.kind != "f":
        return f"{node.inputs[1].name} does not hold floating-point numbers"
    if node.op_type == "Div" and not array.all():
        return f"{node.inputs[1].name} divides by zero"
    return ""


def _rewrite(graph: Any, node: Any) -> None:
    old = node.inputs[1]
    array = old.const_value.numpy()
    made = -array if node.op_type == "Sub" else (1 / array.astype("float64")).astype(array.dtype)
    node.replace_input_with(1, weight(graph, f"{node.name}_{'negated' if node.op_type == 'Sub' else 'inverse'}", made, old.dtype))
    node.op_type = PARTS[node.op_type]
