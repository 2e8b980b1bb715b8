"""Quantise and dequantise."""

from __future__ import annotations

from npu.ops.kernel import row, vector
from npu.ops.node import Lower, Lowered, Node


def quantize(node: Node) -> Lowered:
    return vector(node, "AscendQuant")


def dequantize(node: Node) -> Lowered:
    """An int32 sum of products goes back through AscendDequant, a stored int8 tensor through AscendAntiQuant."""
    first = node.inputs[0] if node.inputs else None
    return vector(node, "AscendDequant" if first is not None and first.dtype == "int32" else "AscendAntiQuant")


def dynamic(node: Node) -> Lowered:
    return row(node, "DynamicQuant", 1)


OPS: dict[str, Lower] = {"QuantizeLinear": quantize, "DequantizeLinear": dequantize, "DynamicQuantizeLinear": dynamic}
