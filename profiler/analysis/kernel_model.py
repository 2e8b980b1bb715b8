"""What the cost model says of kernels of a trace: modelled times by shapes and types, computed once per distinct kernel.

The model's figures are used in ratios, or as the time such work usually takes (median error 10 to 25 %).
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import NamedTuple

import numpy as np

from npu import cost
from npu.cost import Work, vector
from profiler.analysis.context import Context
from profiler.analysis.groups import numbered, one_of_each
from profiler.analysis.kernel_work import ATTENTION, CONV, MATMUL, kernel_work, total_bytes
from profiler.analysis.shapes import conv_work, shapes
from profiler.trace import Array

# Element types as profiles write them (without DT_) -> as the cost model names them.
TYPES = {
    "INT64": "int64", "UINT64": "uint64", "DOUBLE": "float64", "COMPLEX64": "complex64", "FLOAT": "float32", "INT32": "int32",
    "UINT32": "uint32", "FLOAT16": "float16", "BF16": "bfloat16", "INT16": "int16", "UINT16": "uint16", "INT8": "int8",
    "UINT8": "uint8", "BOOL": "bool",
}  # fmt: skip
NARROWER = {"INT64": "INT32", "UINT64": "UINT32", "DOUBLE": "FLOAT"}
FORMS = ("vector", "row", "layout", "fill")


class Kind(NamedTuple):
    """One distinct kernel: the texts of views.basis.KIND."""

    op: str
    in_shapes: str
    in_dtypes: str
    in_formats: str
    out_shapes: str
    out_dtypes: str
    out_formats: str


def plain(dtype: str) -> str:
    """The name of an element type without its prefix: DT_INT64 -> INT64."""
    return dtype.strip().removeprefix("DT_").upper()


def kinds(context: Context, rows: Array) -> tuple[list[Kind], Array]:
    """(the distinct kernels among rows, number of its kind per row). No kinds where the trace lacks shapes or types."""
    known, number = context.basis.kinds
    if not len(rows) or not known:
        return [], np.zeros(0, np.int64)
    mine = np.take(number, rows)
    place, count = numbered(mine)
    return [Kind(*known[i]) for i in mine[one_of_each(place, count)].tolist()], place


def per_kind(context: Context, rows: Array, value: Callable[[Kind], float]) -> Array:
    """A number per row that follows from its kind; NaN where the trace lacks shapes or types."""
    found, place = kinds(context, rows)
    return np.array([value(k) for k in found], float)[place] if found else np.full(len(rows), np.nan)


def modelled_ns(context: Context, rows: Array, make: Callable[[Kind], Work | None]) -> Array:
    """Modelled time of each kernel, ns, from the Work that `make` gives for its kind; NaN without one."""

    def time(kind: Kind) -> float:
        work = make(kind)
        return float(cost.kernel(work, context.chip).duration) if work is not None else np.nan

    return per_kind(context, rows, time)


def product(kind: Kind) -> Work | None:
    """The Work of a matrix product or a convolution; None for what is neither, and where shapes do not tell."""
    known = kernel_work(*kind)
    if known is None or known.side != "cube" or kind.op.startswith((*ATTENTION, "Depthwise")):
        return None
    if kind.op.startswith(CONV):
        return conv_work(kind.op, kind.in_shapes, kind.in_dtypes, kind.in_formats, kind.out_shapes, kind.out_formats)
    if not kind.op.startswith(MATMUL) or known.dtype not in ("float16", "bfloat16", "float32", "int8"):
        return None
    out = shapes(kind.out_shapes)[0]
    dims = (prod(out[:-2]), out[-2], out[-1], round(known.flops / 2 / prod(out)))
    written = total_bytes(kind.out_shapes, kind.out_dtypes)
    return Work("matmul", kind.op, known.dtype, dims, known.bytes - written, written)


def elementwise(kind: Kind) -> Work | None:
    """The Work of a vector kernel over the same elements and bytes; None where shapes or types do not tell."""
    inputs, outputs = shapes(kind.in_shapes), shapes(kind.out_shapes)
    largest = max((s for s in (*inputs, *outputs) if s), key=prod, default=())
    dtype = TYPES.get(plain(kind.in_dtypes.split(";")[0]) or plain(kind.out_dtypes.split(";")[0]))
    if not largest or dtype is None or not prod(largest):
        return None
    listed = vector.table()
    form = next((f for f in FORMS if (f, kind.op, "") in listed), "vector")
    dims = (prod(largest), prod(largest[:-1]))
    read, written = total_bytes(kind.in_shapes, kind.in_dtypes), total_bytes(kind.out_shapes, kind.out_dtypes)
    return Work(form, kind.op, dtype, dims, read, written)


def narrowed(kind: Kind) -> Work | None:
    """As `elementwise`, with 64-bit types replaced by those of 32 bits."""
    return elementwise(kind._replace(in_dtypes=_narrow(kind.in_dtypes), out_dtypes=_narrow(kind.out_dtypes)))


def as_multiply(kind: Kind) -> Work | None:
    """As `elementwise`, for a plain multiplication over the same bytes."""
    return elementwise(kind._replace(op="Mul"))


def _narrow(dtypes: str) -> str:
    return ";".join(NARROWER.get(plain(d), plain(d)) for d in dtypes.split(";"))
