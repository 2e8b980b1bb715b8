"""Softmax and its relatives: row kernels."""

from __future__ import annotations

from math import prod

from npu.ops.kernel import along, row
from npu.ops.node import Lower, Lowered, Node

NAMES = {"Softmax": "SoftmaxV2", "LogSoftmax": "LogSoftmaxV2", "Hardmax": "Hardmax"}
LOSSES = {"SoftmaxCrossEntropyLoss": "SoftmaxCrossEntropyWithLogits", "NegativeLogLikelihoodLoss": "NLLLoss"}


def softmax(node: Node) -> Lowered:
    first = node.inputs[0] if node.inputs else None
    dims = tuple(max(d, 1) for d in first.dims) if first is not None and first.dims else (1,)
    axis = node.number("axis", -1)
    inside = -len(dims) <= axis < len(dims)
    wide = dims[axis] if inside else 1
    return along(node, NAMES[node.op_type], (axis % len(dims),) if inside else (), prod(dims) // wide)


def loss(node: Node) -> Lowered:
    first = node.inputs[0] if node.inputs else None
    return row(node, LOSSES[node.op_type], first.dims[0] if first is not None and first.dims else 1)


OPS: dict[str, Lower] = {**dict.fromkeys(NAMES, softmax), **dict.fromkeys(LOSSES, loss)}
