"""ConvBatchnormFusionPass: an inference batch normalisation behind a convolution is folded into weights and bias.

y = (conv(x, W) + b - mean) * s + B with s = scale / sqrt(var + epsilon) is conv(x, W * s) + (b - mean) * s + B, s per output
channel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from npu.graph.passes.base import Outcome, Work
from npu.graph.passes.matcher import is_constant
from npu.graph.passes.rewriting import note, set_input, weight
from npu.patterns import named

NAME = named("ConvBatchnormFusionPass").name
EPSILON = 1e-5  # ONNX default
STATISTICS = ("scale", "bias", "mean", "variance")


def run(work: Work) -> Outcome:
    """Fold every batch normalisation whose convolution feeds nothing else and whose values are all constant."""
    return fold_all(work, NAME, "Conv")


def fold_all(work: Work, name: str, convolution: str, own_refusal: Callable[[Any], str] | None = None, axis: int = 0) -> Outcome:
    """Fold behind one kind of convolution; axis: of the filter's output channels. own_refusal: what that kind cannot do, ""."""
    outcome = Outcome()
    for norm in list(work.graph):
        if norm.op_type != "BatchNormalization" or norm.domain or not norm.inputs or norm.inputs[0] is None:
            continue
        conv = norm.inputs[0].producer()
        if conv is None or conv.op_type != convolution or conv.domain:
            continue
        outcome.matched += 1
        reason = (own_refusal(conv) if own_refusal is not None else "") or refusal(conv, norm)
        if reason:
            outcome.refuse(name, norm, reason)
            continue
        fold(work.graph, conv, norm, axis)
        outcome.effected += 1
    return outcome


def refusal(conv: Any, norm: Any) -> str:
    """Why this pair cannot be folded; "" when it can."""
    result = norm.inputs[0]
    if result.is_graph_output():
        return f"the convolution's output {result.name} is an output of the model"
    if len(result.uses()) > 1:
        other = next(u.node.name for u in result.uses() if u.node is not norm)
        return f"the convolution's output {result.name} is also used by {other}"
    if norm.attributes.get_int("training_mode", 0) or any(o.uses() or o.is_graph_output() for o in norm.outputs[1:]):
        return "the batch normalisation is in training mode"
    if not is_constant(conv.inputs[1]):
        return "the filter is not constant"
    if len(conv.inputs) > 2 and conv.inputs[2] is not None and not is_constant(conv.inputs[2]):
        return "the bias of the convolution is not constant"
    for what, value in zip(STATISTICS, norm.inputs[1:5], strict=True):
        if not is_constant(value):
            return f"{what} of the batch normalisation is not constant"
    return ""


def fold(graph: Any, conv: Any, norm: Any, axis: int = 0) -> None:
    """Rewrite the pair into one convolution with new weights and bias; it takes over the normalisation's output. axis: of the
    filter's output channels."""
    import numpy as np
    import onnx_ir as ir

    filters = conv.inputs[1].const_value.numpy()
    scale, bias, mean, variance = (v.const_value.numpy().astype(np.float64) for v in norm.inputs[1:5])
    factor = scale / np.sqrt(variance + norm.attributes.get_float("epsilon", EPSILON))
    has_bias = len(conv.inputs) > 2 and conv.inputs[2] is not None
    old = conv.inputs[2].const_value.numpy().astype(np.float64) if has_bias else 0.0
    along = [1] * axis + [-1] + [1] * (filters.ndim - 1 - axis)
    new_weight = filters * factor.reshape(along).astype(filters.dtype)
    new_bias = ((old - mean) * factor + bias).astype(filters.dtype)
    dtype = conv.inputs[1].dtype
    conv.replace_input_with(1, weight(graph, f"{conv.name}_weight_bn", new_weight, dtype))
    set_input(conv, 2, weight(graph, f"{conv.name}_bias_bn", new_bias, dtype))
    note(conv, norm)
    ir.convenience.replace_nodes_and_values(graph, norm, [norm], [], [norm.outputs[0]], [conv.outputs[0]])
