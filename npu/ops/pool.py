"""Pooling: vector kernels over windows; the global ones are reductions."""

from __future__ import annotations

from npu.ops.kernel import row
from npu.ops.node import Lower, Lowered, Node

NAMES = {
    "MaxPool": "MaxPool",
    "AveragePool": "AvgPoolV2",
    "LpPool": "LpPool",
    "MaxUnpool": "MaxUnpool2D",
    "MaxRoiPool": "ROIPooling",
    "RoiAlign": "ROIAlign",
    "GlobalAveragePool": "GlobalAveragePool",
    "GlobalMaxPool": "GlobalMaxPool",
    "GlobalLpPool": "GlobalLpPool",
}


def pool(node: Node) -> Lowered:
    """Rows are output points for the global kinds, images x channels for the windowed ones."""
    out = node.outputs[0] if node.outputs else None
    if out is None or len(out.dims) < 2:
        return row(node, NAMES[node.op_type], 1)
    return row(node, NAMES[node.op_type], max(out.dims[0], 1) * max(out.dims[1], 1))


OPS: dict[str, Lower] = dict.fromkeys(NAMES, pool)
