"""The common kernels: one constructor per form of Work. Traffic is every operand once."""

from __future__ import annotations

from collections.abc import Collection
from math import prod

from npu.cost.work import Work
from npu.dtypes import NARROW
from npu.ops.axes import across, order_of, together
from npu.ops.node import Lowered, Node

# Element types no vector instruction takes: such a kernel runs on the AI CPU.
AICPU_TYPES = {"float64", "string", "complex64", "complex128", "uint64", "uint32", "uint16", "", *NARROW}
AICPU_ARITHMETIC = AICPU_TYPES | {"int64"}
CUBE_TYPES = {"float16", "bfloat16", "float32", "int8", "uint8"}  # what the cube multiplies


def compute_type(node: Node) -> str:
    """The element type a node computes in: that of its first input, else of its first output."""
    first = node.inputs[0] if node.inputs else None
    return first.dtype if first is not None else node.outputs[0].dtype if node.outputs else ""


def read_bytes(node: Node) -> int:
    return sum(i.bytes for i in node.given)


def write_bytes(node: Node) -> int:
    return sum(o.bytes for o in node.outputs)


def _work(node: Node, form: str, op: str, dims: tuple[int, ...]) -> Work:
    dtype = compute_type(node)
    return Work(form, op, dtype, dims, read_bytes(node), write_bytes(node))


def biggest(node: Node) -> int:
    """Elements of the largest operand: what a vector kernel has to walk over."""
    return max((o.elements for o in (*node.given, *node.outputs)), default=1)


def vector(node: Node, op: str, arithmetic: bool = True) -> Lowered:
    """Element by element. arithmetic=False for type changes and selections, which vector cores do with 64-bit integers too."""
    if compute_type(node) in (AICPU_ARITHMETIC if arithmetic else AICPU_TYPES):
        return aicpu(node, op)
    return Lowered(op, _work(node, "vector", op, (biggest(node), 1)))


def row(node: Node, op: str, rows: int, scratch: int = 0) -> Lowered:
    """Along an axis: softmax, norms, reductions. rows is how many independent ones there are."""
    if compute_type(node) in AICPU_ARITHMETIC:
        return aicpu(node, op)
    return Lowered(op, _work(node, "row", op, (biggest(node), max(rows, 1))), scratch)


def along(node: Node, op: str, axes: Collection[int], rows: int, scratch: int = 0) -> Lowered:
    """Along axes of the first input: as `row` where they are the last ones, else step by step (npu.ops.axes)."""
    walk = across(node.given[0].dims, axes) if node.given else None
    if walk is None or compute_type(node) in AICPU_ARITHMETIC:
        return row(node, op, rows, scratch)
    return Lowered(op, _work(node, "across", op, (biggest(node), *walk)), scratch)


def layout(node: Node, op: str, rows: int = 1) -> Lowered:
    """Moves elements without changing them. What counts is the part that moves: the output. A change to blocks of channels moves
    planes: images of one channel, of a filter its few taps; a transposition what stays together (npu.ops.axes)."""
    if compute_type(node) in AICPU_TYPES:
        return aicpu(node, op)
    if op == "TransData" and node.outputs and len(node.outputs[0].dims) == 4:
        rows = prod(node.outputs[0].dims[:2])
    moved = sum(o.elements for o in node.outputs)
    size = node.outputs[0].element_bytes if node.outputs else 4.0
    if op == "Transpose" and node.given and node.outputs:
        rows = moved // together(node.given[0].dims, _order(node), size)
    work = Work("layout", op, compute_type(node), (moved, max(rows, 1)), int(moved * size), write_bytes(node))
    return Lowered(op, work)


def _order(node: Node) -> tuple[int, ...]:
    """How a transposition orders axes: as told, else what the shapes tell; () where both shapes are alike (made contiguous)."""
    dims, result = node.given[0].dims, node.outputs[0].dims
    return node.ints("perm") or (order_of(dims, result) if dims != result else ())


def fill(node: Node, op: str) -> Lowered:
    """Writes without reading data."""
    dtype = node.outputs[0].dtype if node.outputs else ""
    if dtype in AICPU_TYPES:
        return aicpu(node, op)
    return Lowered(op, Work("fill", op, dtype, (sum(o.elements for o in node.outputs), 1), 0, write_bytes(node)))


def aicpu(node: Node, op: str) -> Lowered:
    """On the AI CPU: 64-bit arithmetic, texts, sequences, results whose size depends on the data."""
    return Lowered(op, _work(node, "aicpu", op, (biggest(node), 1)))


def matmul(node: Node, op: str, batch: int, m: int, n: int, k: int) -> Lowered:
    dtype = compute_type(node)
    if dtype not in CUBE_TYPES:
        return aicpu(node, op)
    return Lowered(op, _work(node, "matmul", op, (batch, m, n, k)))
