"""What a kernel has to do, from its shapes and types: floating point operations and bytes (formulas of view V9)."""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from npu.cost.chip import lanes
from npu.cost.tiling import slowdown
from npu.soc import Soc
from profiler.analysis.shapes import DTYPE, conv_work, shapes

# Bytes of one element by the names profiles write, with and without DT_ in front.
SIZES = {"INT64": 8, "UINT64": 8, "DOUBLE": 8, "COMPLEX64": 8, "FLOAT": 4, "INT32": 4, "UINT32": 4, "FLOAT16": 2, "BF16": 2}
SIZES |= {"INT16": 2, "UINT16": 2, "INT8": 1, "UINT8": 1, "BOOL": 1}
MATMUL = ("MatMul", "BatchMatMul", "Gemm", "QuantBatchMatmul", "WeightQuantBatchMatmul")
CONV = ("Conv", "Depthwise")
ATTENTION = ("FlashAttention", "PromptFlashAttention", "FusedInferAttention", "IncreFlashAttention")
BLOCKED = ("FRACTAL_NZ", "FRACTAL_Z", "NC1HWC0", "FRACTAL_ZN")


class KernelWork(NamedTuple):
    """side: cube or vector. dtype: of the computation as npu.cost names it. flops, bytes (all inputs and outputs once).
    hf32: float32 is computed with shortened mantissas (the framework's default for convolutions)."""

    side: str
    dtype: str
    flops: float
    bytes: int
    hf32: bool = False


def item_bytes(dtype: str) -> int:
    """Bytes of an element of a type as profiles write it; 0 for an unknown one."""
    return SIZES.get(dtype.strip().removeprefix("DT_").upper(), 0)


def total_bytes(shape_text: str, dtype_text: str) -> int:
    """Bytes of all tensors of a list; tensors of unknown shape or type count 0."""
    return sum(prod(s) * item_bytes(d) for s, d in zip(shapes(shape_text), dtype_text.split(";"), strict=False) if s)


def kernel_work(
    op: str, in_shapes: str, in_dtypes: str, in_formats: str, out_shapes: str, out_dtypes: str, out_formats: str
) -> KernelWork | None:
    """None when the shapes do not tell."""
    inputs, outputs = shapes(in_shapes), shapes(out_shapes)
    moved = total_bytes(in_shapes, in_dtypes) + total_bytes(out_shapes, out_dtypes)
    if not moved or not outputs[0]:
        return None
    first = in_dtypes.split(";")[0] or out_dtypes.split(";")[0]
    dtype = DTYPE.get(first.removeprefix("DT_"), "float16" if first.endswith("16") else "float32")
    if op.startswith(MATMUL):
        depth = _depth(inputs, in_formats.split(";"), outputs[0])
        return KernelWork("cube", dtype, 2.0 * prod(outputs[0]) * depth, moved) if depth else None
    if op.startswith(CONV) and "Backprop" not in op:
        work = conv_work(op, in_shapes, in_dtypes, in_formats, out_shapes, out_formats)
        if work is None:
            return None
        n, ho, wo, co, ci, kh, kw, _ = work.dims
        return KernelWork("cube", dtype, 2.0 * n * ho * wo * co * ci * kh * kw, moved, dtype == "float32")
    if op.startswith(ATTENTION):
        return _attention(inputs, dtype, moved)
    if op.startswith(CONV):
        return None
    return KernelWork("vector", dtype, float(max(prod(outputs[0]), *(prod(s) for s in inputs if s), 0)), moved)


def on_cube(op: str) -> bool:
    """True for operators whose main part is a product."""
    return op.startswith((*MATMUL, *CONV, *ATTENTION, "GroupedMatmul"))


def _depth(inputs: list[tuple[int, ...]], formats: list[str], out: tuple[int, ...]) -> int:
    """K of a product: the axis of the first input that the output does not have. 0 when it cannot be told."""
    left = inputs[0]
    if len(left) < 2 or formats[0] in BLOCKED or len(out) < 2:
        return 0
    rows, columns = left[-2], left[-1]
    return columns if rows == out[-2] else rows if columns == out[-2] else 0


def _attention(inputs: list[tuple[int, ...]], dtype: str, moved: int) -> KernelWork | None:
    """Query and key as [batch, heads, length, depth]; other layouts cannot be told apart from their shapes."""
    if len(inputs) < 2 or len(inputs[0]) != 4 or len(inputs[1]) != 4:
        return None
    batch, heads, queries, depth = inputs[0]
    return KernelWork("cube", dtype, 4.0 * batch * heads * queries * inputs[1][2] * depth, moved)


def peak_flops_per_ns(work: KernelWork, chip: Soc, mhz: float) -> float:
    """What the chip could do at that clock, operations per ns: multiply-accumulates count two, vector lanes one."""
    if work.side == "cube":
        return 2 * chip.mac_fp16 / slowdown(work.dtype, chip, work.hf32) * chip.aic * mhz / 1000
    return lanes(chip, work.dtype) * chip.vector_cores * mhz / 1000
