"""Sorting and results whose size depends on the data."""

from __future__ import annotations

from npu.cost.vector import INTEGERS
from npu.ops.kernel import aicpu, along, row
from npu.ops.node import Lower, Lowered, Node

AICPU = {
    "NonZero": "NonZero",
    "Unique": "UniqueWithCountsExt2",
    "Compress": "Compress",
    "NonMaxSuppression": "NonMaxSuppressionV3",
    "Multinomial": "Multinomial",
    "Det": "MatrixDeterminant",
    "TfIdfVectorizer": "TfIdfVectorizer",
}


def top_k(node: Node) -> Lowered:
    """Sorts value and index together: the workspace holds both twice (merge sort, ping and pong)."""
    first = node.given[0] if node.given else None
    if first is None or not first.dims:
        return row(node, "TopKV2", 1)
    scratch = 2 * int(first.elements * (first.element_bytes + 4))
    if first.dtype in INTEGERS:  # no vector kernel sorts them: 14 to 172 ms for 2 to 67 million values on 910B2
        return aicpu(node, "TopKV2")
    at = node.number("axis", -1) % len(first.dims)
    return along(node, "TopKV2", (at,), first.elements // max(first.dims[at], 1), scratch)


def searching(node: Node) -> Lowered:
    return aicpu(node, AICPU[node.op_type])


OPS: dict[str, Lower] = {"TopK": top_k, **dict.fromkeys(AICPU, searching)}
