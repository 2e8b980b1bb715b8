"""Reductions, scans and arg-max: row kernels; rows are what is left after reducing."""

from __future__ import annotations

from npu.ops.axes import left_out
from npu.ops.kernel import along, row
from npu.ops.node import Lower, Lowered, Node

REDUCE = {
    "ReduceSum": "ReduceSumD",
    "ReduceMean": "ReduceMeanD",
    "ReduceMax": "ReduceMaxD",
    "ReduceMin": "ReduceMinD",
    "ReduceProd": "ReduceProdD",
    "ReduceL1": "LpNormV2",
    "ReduceL2": "LpNormV2",
    "ReduceLogSum": "ReduceLogSum",
    "ReduceLogSumExp": "ReduceLogSumExp",
    "ReduceSumSquare": "SquareSumV1",
    "ArgMax": "ArgMaxV2",
    "ArgMin": "ArgMin",
}
SCAN = {"CumSum": "Cumsum", "CumProd": "Cumprod"}
PARTIAL = 512  # bytes per partial result that blocks leave for the last step of a reduction to one row


def reduction(node: Node) -> Lowered:
    rows = node.outputs[0].elements if node.outputs else 1
    whole = rows == 1 and bool(node.given) and node.given[0].elements > 1
    axes = left_out(node.given[0].dims, node.outputs[0].dims) if node.given and node.outputs else ()
    return along(node, REDUCE[node.op_type], axes, rows, PARTIAL * 48 if whole else 0)


def scan(node: Node) -> Lowered:
    first = node.given[0] if node.given else None
    return row(node, SCAN[node.op_type], first.elements // max(first.dims[-1], 1) if first is not None and first.dims else 1)


OPS: dict[str, Lower] = {**dict.fromkeys(REDUCE, reduction), **dict.fromkeys(SCAN, scan)}
