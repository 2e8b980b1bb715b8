"""Products and convolutions with something taken along: a transposition, a bias, an activation, scales."""

from __future__ import annotations

from dataclasses import replace

from npu.ops import conv
from npu.ops.fused import tail_weight
from npu.ops.kernel import aicpu, matmul
from npu.ops.matmul import gemm, product
from npu.ops.node import Lower, Lowered, Node, Operand


def turned(operand: Operand | None, swap: bool) -> Operand | None:
    """The operand with its last two dims swapped."""
    if operand is None or not swap or len(operand.dims) < 2:
        return operand
    return replace(operand, dims=(*operand.dims[:-2], operand.dims[-1], operand.dims[-2]))


def _int8(node: Node, left: Operand | None, right: Operand | None) -> Lowered:
    """The cube multiplies int8, whatever the first operand is given as; scales and bias belong to its output stage."""
    made = product(node, left, right)
    if made.work.form != "matmul":
        return made
    return Lowered("QuantBatchMatmulV3", replace(made.work, op="QuantBatchMatmulV3", dtype="int8", epilogue=_results(node)))


def _results(node: Node) -> int:
    return node.outputs[0].elements


def fused_mat_mul(node: Node) -> Lowered:
    left, right = (turned(node.inputs[at], bool(node.number(f"trans{'AB'[at]}", 0))) for at in (0, 1))
    return product(node, left, right)


def fused_gemm(node: Node) -> Lowered:
    return _with_activation(node, gemm(node))


def q_gemm(node: Node) -> Lowered:
    left, right = turned(node.inputs[0], bool(node.number("transA", 0))), turned(node.inputs[3], bool(node.number("transB", 0)))
    return _int8(node, left, right)


def integer_product(node: Node) -> Lowered:
    """Float or int8 rows, which are quantised on the way in, times int8 weights."""
    return _int8(node, node.inputs[0], node.inputs[1])


def weight_only(node: Node) -> Lowered:
    """Weights of a few bits, unpacked on the way: [.., K] x [K, N]."""
    data = node.inputs[0]
    if data is None or not data.dims:
        return aicpu(node, "WeightQuantBatchMatmulV2")
    rows = max(data.elements // max(data.dims[-1], 1), 1)
    return matmul(node, "WeightQuantBatchMatmulV2", 1, rows, max(node.number("N", 1), 1), max(node.number("K", 1), 1))


def fused_conv(node: Node) -> Lowered:
    """A fourth input is added before the activation."""
    made = conv.conv(node)
    added = _results(node) if len(node.given) > 3 else 0
    return _with_activation(node, replace(made, work=replace(made.work, epilogue=made.work.epilogue + added)))


def _with_activation(node: Node, made: Lowered) -> Lowered:
    name = node.text("activation", "")
    if not name or made.work.form == "aicpu":
        return made
    extra = _results(node) * tail_weight(name)
    return replace(made, work=replace(made.work, op=made.work.op + name, epilogue=made.work.epilogue + extra))


OPS: dict[str, Lower] = {
    "FusedMatMul": fused_mat_mul,
    "TransposeMatMul": fused_mat_mul,
    "FusedGemm": fused_gemm,
    "QGemm": q_gemm,
    "DynamicQuantizeMatMul": integer_product,
    "MatMulIntegerToFloat": integer_product,
    "MatMulNBits": weight_only,
    "FusedConv": fused_conv,
}
