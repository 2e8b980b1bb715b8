"""Kernels that stand for several ONNX nodes: what a fusion pass recognised as one operator, by the operator's name."""

from __future__ import annotations

from math import prod

from npu.cost.work import Work
from npu.ops import aipp
from npu.ops.kernel import CUBE_TYPES, aicpu, compute_type, read_bytes, row, vector, write_bytes
from npu.ops.node import Lowered, Node

VECTOR = ("Gelu", "Swish", "HardSwish", "HardSigmoid", "Mish")
ROWS = ("LayerNorm", "RmsNorm", "AddLayerNorm", "AddRmsNorm", "InplaceAddRmsNorm", "SoftmaxV2")  # along the last axis
ATTENTION = "FlashAttentionScore"


def lower(kernel: str, node: Node, dims: tuple[int, ...] = ()) -> Lowered:
    """The kernel of a group. node: what crosses its border; dims: of an attention, (batch, heads, queries, keys, width); of
    preprocessing, (bytes it reads,)."""
    if kernel in VECTOR:
        return vector(node, kernel)
    if kernel == ATTENTION:
        if compute_type(node) not in CUBE_TYPES:
            return aicpu(node, kernel)
        return Lowered(kernel, Work("attention", kernel, compute_type(node), dims, read_bytes(node), write_bytes(node)))
    if kernel == aipp.NAME:
        return aipp.lowered(node, dims)
    if kernel in ROWS:
        return row(node, kernel, prod(max(d, 1) for d in node.outputs[0].dims[:-1]))
    raise KeyError(kernel)


# Element operations of one result of an operator in a fused tail, relative to an add (exponentials take a series).
TAIL = {
    "Sigmoid": 4,
    "Tanh": 4,
    "Erf": 6,
    "Exp": 3,
    "Log": 3,
    "Softplus": 4,
    "Elu": 4,
    "Selu": 4,
    "Celu": 4,
    "Gelu": 6,
    "Mish": 8,
    "Swish": 5,
    "Pow": 4,
    "Sqrt": 2,
    "Reciprocal": 2,
    "Sin": 4,
    "Cos": 4,
}


def tail_weight(op_type: str) -> int:
    return TAIL.get(op_type, 1)
