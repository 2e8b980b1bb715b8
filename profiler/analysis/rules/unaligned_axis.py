"""Rule 48: rows of a product's operands do not begin on the boundaries that memory is read by."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from npu.cost import Work
from npu.units import MIB
from profiler.analysis.context import Context
from profiler.analysis.edits import SetTo
from profiler.analysis.judge import Name
from profiler.analysis.kernel_model import Kind, kinds, modelled_ns, per_kind, plain, product
from profiler.analysis.kernel_work import ATTENTION, BLOCKED, MATMUL, item_bytes
from profiler.analysis.rules.kernels import said_of, split_by
from profiler.analysis.rules.operators import chip_known, described
from profiler.analysis.shapes import shapes
from profiler.findings import Finding
from profiler.trace import Array

NAME = Name("unaligned-axis", 48, "operator")
ROW_BYTES = 256  # a row of a product's operand should be a multiple of it
ATTENTION_STEP = 128  # head depth and length of attention, elements
WORSE = 0.8  # of the efficiency of aligned neighbours
SMALL = MIB  # bytes; below it the fixed cost rules


def unaligned_axis(context: Context) -> Iterator[Finding]:
    """Fires for products whose operands have rows that are no multiple of 256 bytes (attention: length or depth no multiple of
    128), where they reach under 0.8 of the efficiency of the aligned kernels of the same operator and type; without such
    neighbours, of what the cost model gives (at most then). Gain: that efficiency for padded operands. Silent below 1 MiB."""
    if "op_type" not in context.trace.task:
        return
    found = context.views.roofline
    rows, duration = found.row, context.basis.durations(found.row)
    misaligned = per_kind(context, rows, _misaligned)
    known = (found.floor_ns > 0) & ~np.isnan(misaligned)
    odd = np.flatnonzero(known & (misaligned > 0) & (found.bytes >= SMALL))
    if not len(odd):
        return
    actual, padded = modelled_ns(context, rows[odd], product), modelled_ns(context, rows[odd], _padded)
    wanted, measured = _neighbours(context, rows, found.efficiency, np.flatnonzero(known & (misaligned == 0)), odd)
    wanted = np.where(measured, wanted, np.minimum(1.0, found.floor_ns[odd] / actual))
    reached = found.efficiency[odd]
    more = np.where(np.isnan(actual), 1.0, np.maximum(1.0, padded / actual))  # padding adds work
    shorter = duration[odd] * reached / wanted * more
    chosen = (reached < WORSE * wanted) & (shorter < duration[odd]) & (measured | chip_known(context))
    mine = rows[odd[chosen]]
    if not len(mine):
        return
    facts = described(context, mine) | {
        "efficiency_share": float(np.median(reached[chosen])),
        "neighbour_share": float(np.median(wanted[chosen])),
    }
    edit = SetTo(mine, shorter[chosen].astype(np.int64))
    yield said_of(context, NAME, facts, mine, (edit,), "medium", "model", at_most=not measured[chosen].all())


def _misaligned(kind: Kind) -> float:
    """1: an operand's axis is unaligned; 0: none is; NaN: no product, or shapes do not tell."""
    inputs, formats, dtypes = (shapes(kind.in_shapes), kind.in_formats.split(";"), kind.in_dtypes.split(";"))
    if kind.op.startswith(ATTENTION):
        return float(any(axis % ATTENTION_STEP for axis in inputs[0][2:])) if len(inputs[0]) == 4 else np.nan
    if not kind.op.startswith(MATMUL) or len(inputs) < 2 or len(dtypes) < 2 or len(formats) < 2:
        return np.nan
    operands = [
        (s[-1], item_bytes(d)) for s, d, f in zip(inputs[:2], dtypes, formats, strict=False) if len(s) > 1 and f not in BLOCKED
    ]
    return float(any(axis * size % ROW_BYTES for axis, size in operands))


def _padded(kind: Kind) -> Work | None:
    """The Work of a product with all axes padded to the next multiple of ROW_BYTES."""
    work = product(kind)
    if work is None or work.form != "matmul":
        return None
    step = ROW_BYTES // max(1, item_bytes(plain(kind.in_dtypes.split(";")[0])))
    batch, m, n, k = work.dims
    wide_n, wide_k = -(-n // step) * step, -(-k // step) * step
    grown = (wide_n * wide_k) / (n * k)
    return Work(
        work.form,
        work.op,
        work.dtype,
        (batch, m, wide_n, wide_k),
        int(work.read_bytes * grown),
        int(work.write_bytes * wide_n / n),
    )


def _neighbours(context: Context, rows: Array, efficiency: Array, aligned: Array, odd: Array) -> tuple[Array, Array]:
    """Per unaligned kernel the median efficiency of the aligned ones of its operator and type, and whether there are any."""
    found, place = kinds(context, rows)
    names: dict[tuple[str, str], int] = {}
    number = np.array([names.setdefault((_base(k.op), k.in_dtypes.split(";")[0]), len(names)) for k in found])[place]
    medians = np.full(len(names), np.nan)
    for group in split_by(number[aligned]):
        medians[number[aligned[group[0]]]] = np.median(efficiency[aligned[group]])
    wanted = medians[number[odd]]
    return wanted, ~np.isnan(wanted)


def _base(op: str) -> str:
    """MatMulV3 -> MatMul."""
    head, mark, version = op.rpartition("V")
    return head if mark and version.isdigit() else op
