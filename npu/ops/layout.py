"""Moves: transposes, concatenation, slices, gathers. Values stay as they are."""

from __future__ import annotations

from npu.ops.kernel import fill, layout, row
from npu.ops.node import Lower, Lowered, Node

MOVES = {
    "Transpose": "Transpose",
    "Concat": "ConcatD",
    "Split": "SplitD",
    "Slice": "StridedSliceD",
    "Gather": "GatherV2",
    "GatherElements": "GatherElements",
    "GatherND": "GatherNd",
    "Expand": "BroadcastTo",
    "Tile": "TileD",
    "Pad": "PadV3",
    "DepthToSpace": "DepthToSpace",
    "SpaceToDepth": "SpaceToDepth",
    "Trilu": "Trilu",
    "ReverseSequence": "ReverseSequence",
    "Scatter": "ScatterElements",
    "ScatterElements": "ScatterElements",
    "ScatterND": "ScatterNdUpdate",
    "TensorScatter": "ScatterUpdate",
    "CenterCropPad": "PadV3",
    "OneHot": "OneHot",
}
FILLS = {
    "ConstantOfShape": "Fill",
    "EyeLike": "Eye",
    "Range": "Range",
    "RandomNormal": "RandomStandardNormal",
    "RandomNormalLike": "RandomStandardNormal",
    "RandomUniform": "RandomUniform",
    "RandomUniformLike": "RandomUniform",
    "Bernoulli": "StatelessBernoulli",
    "HannWindow": "HannWindow",
    "HammingWindow": "HammingWindow",
    "BlackmanWindow": "BlackmanWindow",
    "MelWeightMatrix": "MelWeightMatrix",
}
RESIZE = {"nearest": "ResizeNearestNeighborV2", "linear": "ResizeBilinearV2", "cubic": "ResizeBicubic"}


def move(node: Node) -> Lowered:
    name = MOVES[node.op_type]
    if node.op_type == "Split" and len({o.dims for o in node.outputs}) > 1:
        name = "SplitVD"
    if node.op_type == "Trilu":
        name = "Triu" if node.number("upper", 1) else "Tril"
    return layout(node, name)


def filling(node: Node) -> Lowered:
    return fill(node, FILLS[node.op_type])


def resize(node: Node) -> Lowered:
    """Nearest only copies; the others interpolate, so they are computed row by row."""
    mode = node.text("mode", "nearest")
    name = RESIZE.get(mode, "ResizeD")
    out = node.outputs[0] if node.outputs else None
    if mode == "nearest":
        return layout(node, name)
    return row(node, name, out.elements // max(out.dims[-1], 1) if out is not None and out.dims else 1)


def grid(node: Node) -> Lowered:
    images = node.outputs[0].dims[0] if node.outputs and node.outputs[0].dims else 1
    return row(node, "GridSampler2D" if node.op_type == "GridSample" else "AffineGrid", images)


OPS: dict[str, Lower] = {
    **dict.fromkeys(MOVES, move),
    **dict.fromkeys(FILLS, filling),
    "Resize": resize,
    "Upsample": resize,
    "GridSample": grid,
    "AffineGrid": grid,
}
