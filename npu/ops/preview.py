"""Operators of onnx's preview domains: optimisers of training, attention with own score functions."""

from __future__ import annotations

from npu.ops.attention import attention
from npu.ops.kernel import aicpu, vector
from npu.ops.node import Lower, Lowered, Node

STEPS = {"Adagrad": "ApplyAdagradD", "Adam": "ApplyAdamD", "Momentum": "ApplyMomentum"}


def step(node: Node) -> Lowered:
    """A step of an optimiser: element by element over weights, gradients and moments. The first inputs are rate and count."""
    return vector(node, STEPS[node.op_type])


def flex(node: Node) -> Lowered:
    """With functions on scores given as subgraphs only the AI CPU can do it."""
    if node.attributes.get("score_mod") is not None or node.attributes.get("prob_mod") is not None:
        return aicpu(node, "PromptFlashAttention")
    return attention(node)


TRAINING: dict[str, Lower] = dict.fromkeys(STEPS, step)
OPS: dict[str, Lower] = {"FlexAttention": flex}
