"""Normalisations that were not folded away."""

from __future__ import annotations

from math import prod

from npu.ops.kernel import row, vector
from npu.ops.node import Lower, Lowered, Node


def _dims(node: Node) -> tuple[int, ...]:
    first = node.inputs[0] if node.inputs else None
    return tuple(max(d, 1) for d in first.dims) if first is not None else (1,)


def batch_norm(node: Node) -> Lowered:
    """Per channel one multiply and one add: at inference a vector kernel."""
    return vector(node, "BNTrainingUpdate" if node.number("training_mode", 0) else "BNInfer")


def instance_norm(node: Node) -> Lowered:
    return row(node, "InstanceNorm", prod(_dims(node)[:2]))


def group_norm(node: Node) -> Lowered:
    return row(node, "GroupNorm", _dims(node)[0] * node.number("num_groups", 1))


def layer_norm(node: Node) -> Lowered:
    dims = _dims(node)
    axis = node.number("axis", -1)
    rows = prod(dims[: axis if axis >= 0 else len(dims) + axis])
    return row(node, "RmsNorm" if node.op_type == "RMSNormalization" else "LayerNorm", rows)


def lp_norm(node: Node) -> Lowered:
    dims = _dims(node)
    axis = node.number("axis", -1)
    return row(node, "LpNormV2", prod(dims) // dims[axis] if -len(dims) <= axis < len(dims) else 1)


def local_response(node: Node) -> Lowered:
    return row(node, "LRN", prod(_dims(node)) // _dims(node)[1] if len(_dims(node)) > 1 else 1)


def mean_variance(node: Node) -> Lowered:
    return row(node, "MVNV2", prod(_dims(node)[1:2]))


OPS: dict[str, Lower] = {
    "BatchNormalization": batch_norm,
    "InstanceNormalization": instance_norm,
    "GroupNormalization": group_norm,
    "LayerNormalization": layer_norm,
    "RMSNormalization": layer_norm,
    "LpNormalization": lp_norm,
    "LRN": local_response,
    "MeanVarianceNormalization": mean_variance,
}
