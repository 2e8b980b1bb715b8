"""ConvScaleFusionPass and AABiasaddConvFusion: a factor or an addend per channel behind a convolution goes into its weights.

conv(x, W) * s + t is conv(x, W * s) + (b * s + t).
"""

from __future__ import annotations

from typing import Any

from npu.graph.passes.base import Outcome, Work
from npu.graph.passes.matcher import escapes, is_constant
from npu.graph.passes.rewriting import note, set_input, weight
from npu.patterns import named

SCALE = named("ConvScaleFusionPass").name
BIAS = named("AABiasaddConvFusion").name


def run_scale(work: Work) -> Outcome:
    return _run(work, SCALE, "Mul")


def run_bias(work: Work) -> Outcome:
    return _run(work, BIAS, "Add")


def _run(work: Work, name: str, operator: str) -> Outcome:
    outcome = Outcome()
    for node in list(work.graph):
        if node.op_type != operator or node.domain or len(node.inputs) != 2:
            continue
        for value, other in (node.inputs, node.inputs[::-1]):
            conv = value.producer() if value is not None else None
            if conv is None or conv.op_type != "Conv" or conv.domain or not is_constant(other):
                continue
            outcome.matched += 1
            reason = refusal(conv, node, other)
            if reason:
                outcome.refuse(name, conv, reason)
                break
            fold(work.graph, conv, node, other)
            outcome.effected += 1
            break
    return outcome


def refusal(conv: Any, node: Any, other: Any) -> str:
    if not is_constant(conv.inputs[1]):
        return "the filter is not constant"
    if len(conv.inputs) > 2 and conv.inputs[2] is not None and not is_constant(conv.inputs[2]):
        return "the bias of the convolution is not constant"
    if _per_channel(conv, other) is None:
        return f"{other.name} of shape {list(other.shape)} is no number per channel"
    return escapes([conv, node], node)


def _per_channel(conv: Any, value: Any) -> Any:
    """The factors as one vector over the output channels; None when the constant varies along another axis."""
    import numpy as np

    array, filters = value.const_value.numpy(), tuple(conv.inputs[1].const_value.shape.numpy())
    if array.size == 1 and array.ndim <= len(filters):
        return np.full(filters[0], array.reshape(-1)[0], np.float64)
    wanted = (filters[0], *[1] * (len(filters) - 2))
    padded = (1,) * (len(filters) - array.ndim) + array.shape
    return array.reshape(-1).astype(np.float64) if padded == (1, *wanted) else None


def fold(graph: Any, conv: Any, node: Any, other: Any) -> None:
    import numpy as np
    import onnx_ir as ir

    filters, factor = conv.inputs[1].const_value.numpy(), _per_channel(conv, other)
    has_bias = len(conv.inputs) > 2 and conv.inputs[2] is not None
    bias = conv.inputs[2].const_value.numpy().astype(np.float64) if has_bias else np.zeros(filters.shape[0])
    if node.op_type == "Mul":
        scaled = filters * factor.reshape(-1, *[1] * (filters.ndim - 1)).astype(filters.dtype)
        conv.replace_input_with(1, weight(graph, f"{conv.name}_weight_scaled", scaled, conv.inputs[1].dtype))
        bias = bias * factor
    else:
        bias = bias + factor
    if has_bias or node.op_type == "Add":
        set_input(conv, 2, weight(graph, f"{conv.name}_bias_folded", bias.astype(filters.dtype), conv.inputs[1].dtype))
    note(conv, node)
    ir.convenience.replace_nodes_and_values(graph, node, [node], [], [node.outputs[0]], [conv.outputs[0]])
