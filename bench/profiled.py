"""How the cost model orders and times the kernels of a real profile: python bench/profiled.py PROFILE [--soc CHIP]

Each kind of kernel (operator, shapes, types) becomes Work, as measured.py does it for calibration rows, and is costed; the rank
correlation tells whether the kernels stand in the right order. Wider than the analysis' own view of kernels: gradients of
convolutions, pooling and attention too.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from measured import SIZES
from operands import Tensor
from vector_work import one_vector

import profiler
from npu import soc
from npu.cost import Work, kernel
from npu.soc import Soc
from profiler.analysis.context import Context
from profiler.analysis.kernel_model import TYPES, Kind, kinds, plain, product
from profiler.analysis.shapes import shapes
from profiler.trace import Array, Trace


def work(kind: Kind) -> Work | None:
    """What a kernel had to do; None where its shapes do not tell."""
    tensors, outputs = _tensors(kind.in_shapes, kind.in_dtypes), _tensors(kind.out_shapes, kind.out_dtypes)
    if not any(t.elements for t in tensors):
        return None
    for start, make in SPECIAL:
        if kind.op.startswith(start):
            return make(kind, tensors, outputs)
    made = product(kind)
    if made is not None:
        return made
    row = {"output_shapes": kind.out_shapes if outputs else "", "attrs": ""}
    found = one_vector(row, kind.op, tensors)
    written = sum(t.bytes for t in outputs)
    return replace(found, write_bytes=written) if written else found


def _tensors(shape_text: str, dtype_text: str) -> list[Tensor]:
    """Tensors of a list; those of a type the cost model does not know, or absent, are left out."""
    found = []
    for dims, name in zip(shapes(shape_text), dtype_text.split(";"), strict=False):
        dtype = TYPES.get(plain(name), "")
        if dtype in SIZES:
            found.append(Tensor(dims, dtype))
    return found


def _backprop(kind: Kind, tensors: list[Tensor], outputs: list[Tensor]) -> Work | None:
    """The products of the forward pass: gradient and data or filter of a convolution in NC1HWC0 and FRACTAL_Z."""
    images = [t for t in (*tensors, *outputs) if len(t.dims) == 5]
    filters = [t for t in (*tensors, *outputs) if len(t.dims) == 4]
    if len(images) != 2 or len(filters) != 1:
        return None
    taps, wide, _, block = filters[0].dims  # [C1 * Kh * Kw, N1, 16, C0]
    data, gradient = images if "Filter" in kind.op else (images[1], images[0])
    n, _, ho, wo, _ = gradient.dims
    ci = data.dims[1] * data.dims[4]
    dims = (n, ho, wo, wide * 16, ci, max(1, taps * block // ci), 1, 1)
    return Work("conv", kind.op, data.dtype, dims, sum(t.bytes for t in tensors), sum(t.bytes for t in outputs))


def _pool(kind: Kind, tensors: list[Tensor], outputs: list[Tensor]) -> Work | None:
    """Elements: the values of all windows, rows: planes of 16 channels; the mask's third axis is the size of a window."""
    masks = [t for t in (*tensors, *outputs) if len(t.dims) >= 5 and t.dtype == "uint16"]
    images = [t for t in (*tensors, *outputs) if len(t.dims) == 5 and t.dtype != "uint16"]
    if not masks or not images:
        return None
    small = min(images, key=lambda t: t.elements)
    values = small.elements * masks[0].dims[2]
    read, written = sum(t.bytes for t in tensors if t in images), sum(t.bytes for t in outputs if t in images)
    marks = small.elements // 8 * masks[0].dims[2]  # a bit for each value
    return Work("row", kind.op, small.dtype, (values, small.dims[0] * small.dims[1]), read + marks, written + marks)


def _attention(kind: Kind, tensors: list[Tensor], outputs: list[Tensor]) -> Work | None:
    """Query and keys as (length, batch, hidden); the softmax statistics (batch, heads, length, 8) tell batch and heads."""
    told = next((t for t in (*outputs, *tensors) if len(t.dims) == 4 and t.dims[3] == 8), None)
    if told is None or len(tensors[0].dims) != 3:
        return None
    batch, heads, sq, _ = told.dims
    query, key = tensors[0], tensors[1]
    passes = 5 if "Grad" in kind.op else 2  # products: five of the backward pass, two of the forward one
    dims = (max(1, batch * passes // 2), heads, sq, key.elements // key.dims[2] // batch, query.elements // (batch * heads * sq))
    return Work("attention", kind.op, query.dtype, dims, sum(t.bytes for t in tensors), sum(t.bytes for t in outputs))


SPECIAL = (
    ("Conv2DBackprop", _backprop),
    ("MaxPool", _pool),
    ("FlashAttentionScore", _attention),
)


class Measured(NamedTuple):
    """One kind of kernel of a profile: its median time and the modelled one, us, and how often it ran."""

    kind: Kind
    work: Work
    us: float
    modelled: float
    runs: int


def measured(trace: Trace, chip: Soc) -> tuple[list[Measured], list[Kind]]:
    """(the kinds of kernels on cores, slowest first; those whose shapes do not tell their work)."""
    context = Context(trace)
    rows = context.basis.kernels("kernel")
    found, place = kinds(context, rows)
    made, left = [], []
    for number, kind in enumerate(found):
        todo = work(kind)
        if todo is None:
            left.append(kind)
            continue
        times = trace.task["end"][rows[place == number]] - trace.task["start"][rows[place == number]]
        made.append(Measured(kind, todo, float(np.median(times)) / 1000, kernel(todo, chip).duration / 1000, len(times)))
    return sorted(made, key=lambda m: -m.us), left


def rank_correlation(a: Sequence[float], b: Sequence[float]) -> float:
    """Spearman's: 1 where both lists are in the same order. Equal values share the mean of their ranks."""

    def ranks(values: Sequence[float]) -> Array:
        _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
        return (np.cumsum(counts) - (counts - 1) / 2)[place]

    return float(np.corrcoef(ranks(a), ranks(b))[0, 1])


def main() -> int:
    parser = argparse.ArgumentParser(description="How the cost model orders and times the kernels of a real profile.")
    parser.add_argument("profile", type=Path)
    parser.add_argument("--soc", help="the chip; default: the one the profile's files tell")
    parser.add_argument("--worst", type=int, default=10, help="kernels to list, those furthest off first")
    options = parser.parse_args()
    trace = profiler.open(options.profile)
    chip = soc.find(options.soc) if options.soc else Context(trace).chip
    found, left = measured(trace, chip)
    if len(found) < 2:
        print(f"{options.profile} tells the work of {len(found)} kernels: shapes and types are written from Level1 on")
        return 1
    off = [abs(m.modelled / m.us - 1) for m in found]
    order = rank_correlation([m.modelled for m in found], [m.us for m in found])
    print(f"{chip.name}: {len(found)} kinds of kernels, rank correlation {order:.3f}, median error {np.median(off):.1%}")
    print(f"{len(left)} kinds whose shapes do not tell their work: {', '.join(sorted({k.op for k in left})) or 'none'}")
    print(f"{'us':>10}{'modelled':>10}{'times':>7}  kernel")
    for m in sorted(found, key=lambda m: -abs(np.log(m.modelled / m.us)))[: options.worst]:
        print(f"{m.us:>10.1f}{m.modelled:>10.1f}{m.runs:>7}  {m.kind.op} {m.kind.in_shapes} {m.kind.in_dtypes}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
