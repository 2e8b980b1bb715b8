"""Convolutions: the cube unit's main job. Weights lie in FRACTAL_Z once they are constant."""

from __future__ import annotations

from math import prod

from npu.cost.work import Work
from npu.ops.kernel import CUBE_TYPES, aicpu, compute_type, layout, read_bytes, vector, write_bytes
from npu.ops.node import Lower, Lowered, Misfit, Node, Operand, Stored
from npu.ops.storage import fractal_z

Planes = tuple[int, int, int]  # depth, height, width


def _planes(dims: tuple[int, ...]) -> Planes:
    """The spatial dims as depth, height, width; missing ones count 1, open ones count 1."""
    known = [max(d, 1) for d in dims]
    return tuple([1] * (3 - len(known)) + known[-3:])  # type: ignore[return-value]


def _pointwise_macs(node: Node, data: Operand, weight: Operand, out_planes: Planes, out_channels: int) -> tuple[int, ...]:
    """Work dims (n, ho, wo, co, ci_per_group, kh, kw, groups). A third spatial axis is counted into n and ci_per_group."""
    groups = max(node.number("group", 1), 1)
    depth, height, width = out_planes
    kd, kh, kw = _planes(weight.dims[2:])
    channels = max(data.dims[1], 1) // groups
    return max(data.dims[0], 1) * depth, height, width, out_channels, channels * kd, kh, kw, groups


def _weights(node: Node, weight: Operand) -> dict[int, Stored]:
    position = node.inputs.index(weight)
    if not weight.constant or len(weight.dims) not in (3, 4) or min(weight.dims) < 1:
        return {}
    dims = weight.dims if len(weight.dims) == 4 else (*weight.dims[:2], 1, weight.dims[2])
    return {position: Stored(fractal_z(dims, weight.dtype, node.number("group", 1)), "FRACTAL_Z", weight.dtype)}


def _lower(node: Node, data: Operand | None, weight: Operand | None, transposed: bool = False) -> Lowered:
    rank = len(weight.dims) - 2 if weight is not None else 2
    name = f"Conv{3 if rank == 3 else 2}D"
    if transposed:
        name += "TransposeD"
    if data is None or weight is None or len(data.dims) < 3 or not node.outputs or compute_type(node) not in CUBE_TYPES:
        return aicpu(node, name)
    groups = max(node.number("group", 1), 1)
    wanted = weight.dims[0] if transposed else weight.dims[1] * groups
    if data.dims[1] >= 0 and weight.dims[1] >= 0 and data.dims[1] != wanted:
        raise Misfit(node.name, f"the input has {data.dims[1]} channels, the filter takes {wanted}")
    out = node.outputs[0]
    # A transposed convolution multiplies every input point with the whole kernel, a plain one every output point.
    planes = _planes(data.dims[2:] if transposed else out.dims[2:])
    channels = weight.dims[1] * groups if transposed else weight.dims[0]
    depthwise = groups > 1 and groups == data.dims[1] and rank == 2 and not transposed
    name = "DepthwiseConv2D" if depthwise else name
    stored = {} if transposed else _weights(node, weight)
    padded = sum(int(prod(s.dims) * weight.element_bytes) - weight.bytes for s in stored.values())
    work = Work(
        "depthwise" if depthwise else "conv",
        name,
        compute_type(node),
        _pointwise_macs(node, data, weight, planes, max(channels, 1)),
        read_bytes(node) + padded,
        write_bytes(node),
        out.elements if len(node.given) > 2 and node.op_type in ("Conv", "ConvTranspose") else 0,
    )
    return Lowered(name, work, stored=stored)


def _at(node: Node, index: int) -> Operand | None:
    return node.inputs[index] if index < len(node.inputs) else None


def conv(node: Node) -> Lowered:
    return _lower(node, _at(node, 0), _at(node, 1))


def conv_transpose(node: Node) -> Lowered:
    return _lower(node, _at(node, 0), _at(node, 1), transposed=True)


def qlinear_conv(node: Node) -> Lowered:
    return _lower(node, _at(node, 0), _at(node, 3))


def deform_conv(node: Node) -> Lowered:
    made = _lower(node, _at(node, 0), _at(node, 1))
    return Lowered("DeformableConv2D", made.work, made.scratch, made.stored)


def causal_conv(node: Node) -> Lowered:
    return vector(node, "CausalConv1d")


def col2im(node: Node) -> Lowered:
    return layout(node, "Col2im")


OPS: dict[str, Lower] = {
    "Conv": conv,
    "ConvInteger": conv,
    "ConvTranspose": conv_transpose,
    "QLinearConv": qlinear_conv,
    "DeformConv": deform_conv,
    "CausalConvWithState": causal_conv,
    "Col2Im": col2im,
}
