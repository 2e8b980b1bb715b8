"""Matrix products: MatMulV2 for two matrices, BatchMatMulV2 with leading dims."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from npu.ops.kernel import aicpu, matmul, row
from npu.ops.node import Lower, Lowered, Node, Operand, Stored
from npu.ops.storage import fractal_nz


def product(node: Node, left: Operand | None, right: Operand | None) -> Lowered:
    """A product of two operands of the node with broadcast leading dims."""
    if left is None or right is None or not left.dims or not right.dims:
        return aicpu(node, "MatMulV2")
    a, b = (tuple(max(d, 1) for d in o.dims) for o in (left, right))
    m, k = (a[-2], a[-1]) if len(a) > 1 else (1, a[-1])
    n = b[-1] if len(b) > 1 else 1
    if len(b) <= 2:  # a plain right matrix: the leading dims of the left one are rows
        batch, m = 1, m * prod(a[:-2])
    else:
        lead = max(len(a), len(b)) - 2
        wide = [(1,) * (lead - len(x[:-2])) + x[:-2] for x in (a, b)]
        batch = prod(max(x, y) for x, y in zip(*wide, strict=True))
    name = "MatMulV2" if len(a) <= 2 and len(b) <= 2 else "BatchMatMulV2"
    return matmul(node, name, batch, m, n, k)


def blocked(node: Node, index: int, made: Lowered) -> Lowered:
    """The product with its constant right matrix in FRACTAL_NZ, which is padded to whole blocks."""
    weight = node.inputs[index]
    if made.work.form != "matmul" or weight is None or not weight.constant or len(weight.dims) < 2 or min(weight.dims) < 1:
        return made
    stored = Stored(fractal_nz(weight.dims, weight.dtype), "FRACTAL_NZ", weight.dtype)
    padded = int(prod(stored.dims) * weight.element_bytes) - weight.bytes
    return replace(made, work=replace(made.work, read_bytes=made.work.read_bytes + padded), stored={index: stored})


def mat_mul(node: Node) -> Lowered:
    return blocked(node, 1, product(node, node.inputs[0], node.inputs[1]))


def qlinear_mat_mul(node: Node) -> Lowered:
    made = product(node, node.inputs[0], node.inputs[3])
    return blocked(node, 3, Lowered("QuantBatchMatmulV3", made.work))


def gemm(node: Node) -> Lowered:
    left, right = node.inputs[0], node.inputs[1]
    if left is None or right is None or len(left.dims) != 2 or len(right.dims) != 2:
        return aicpu(node, "MatMulV2")
    m, k = left.dims[::-1] if node.number("transA", 0) else left.dims
    n = right.dims[0] if node.number("transB", 0) else right.dims[1]
    return blocked(node, 1, matmul(node, "MatMulV2", 1, max(m, 1), max(n, 1), max(k, 1)))


def einsum(node: Node) -> Lowered:
    """One contraction of two operands as a batched product: letters in both and in the result are the batch."""
    equation = node.text("equation", "").replace(" ", "")
    left, arrow, out = equation.partition("->")
    terms = left.split(",")
    if not arrow or len(terms) != 2 or len(node.given) != 2 or "." in equation:
        return row(node, "Einsum", 1)
    size: dict[str, int] = {}
    for term, operand in zip(terms, node.given, strict=True):
        if len(term) != len(operand.dims):
            return row(node, "Einsum", 1)
        size |= {letter: max(dim, 1) for letter, dim in zip(term, operand.dims, strict=True)}
    first, second = set(terms[0]), set(terms[1])
    batch = prod(size[x] for x in first & second & set(out))
    k = prod(size[x] for x in first & second - set(out))
    return matmul(node, "Einsum", batch, prod(size[x] for x in first - second), prod(size[x] for x in second - first), k)


OPS: dict[str, Lower] = {
    "MatMul": mat_mul,
    "MatMulInteger": mat_mul,
    "QLinearMatMul": qlinear_mat_mul,
    "Gemm": gemm,
    "Einsum": einsum,
}
