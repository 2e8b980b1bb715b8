"""Rule 49: vector kernels run at the memory's speed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from profiler.analysis.context import Context
from profiler.analysis.edits import SetTo
from profiler.analysis.groups import largest
from profiler.analysis.judge import Name
from profiler.analysis.kernel_work import total_bytes
from profiler.analysis.rules.kernels import EVIDENCE_MOST, kernels, next_on_stream, of_type, said_of
from profiler.analysis.rules.operators import MOVING, chip_known, described, share, texts, worth
from profiler.analysis.views.roofline import ratio
from profiler.findings import Finding
from profiler.trace import Array

NAME = Name("bandwidth-bound", 49, "operator")
ALONE = NAME._replace(id="bandwidth-bound-alone")
PIPE = 0.7  # of the kernel's time mte2 or mte3 moves data
NEAR = 0.8  # of the memory's bandwidth
SHARE = 0.10  # of the computing time


def bandwidth_bound(context: Context) -> Iterator[Finding]:
    """Fires when vector kernels that move data for 70 % of their time (where that was measured), at 80 % of the memory's
    bandwidth and more, take 10 % of the computing time. Gain: for each that reads what the one before it on the stream wrote, the
    bytes of that tensor fall away in both. Where none follows such a one it is a note without a gain. Kernels that only move data
    are the matter of rules 12 to 16. Silent where the chip is unknown."""
    if "op_type" not in context.trace.task or not chip_known(context):
        return
    rows = kernels(context)
    rate = _rate(context, rows)
    pipe = np.fmax(ratio(context.trace, "mte2", rows), ratio(context.trace, "mte3", rows))
    moving = of_type(context, rows, MOVING.__contains__)
    bound = (rate >= NEAR) & (np.isnan(pipe) | (pipe >= PIPE)) & ~moving
    mine = rows[bound]
    if not len(mine) or share(context, mine) < SHARE:
        return
    facts = described(context, mine) | {"rate_share": float(np.average(rate[bound], weights=context.basis.durations(mine)))}
    first, second, saved = _pairs(context, rows, bound)
    if not len(first):
        if worth(context, int(facts["total_ns"])):  # type: ignore[call-overload]
            longest = mine[largest(context.basis.durations(mine), EVIDENCE_MOST)]
            yield Finding(ALONE.id, ALONE.number, ALONE.layer, "note", facts, None, context.tasks_shown(longest))
        return
    less = np.zeros(len(rows))
    np.add.at(less, first, saved)
    np.add.at(less, second, saved)
    touched = np.flatnonzero(less)
    duration, moved = context.basis.durations(rows[touched]), _bytes(context, rows)[touched]
    shorter = (duration * np.maximum(0, moved - less[touched]) / moved).astype(np.int64)
    facts |= {"pairs": len(first), "saved_bytes": int(2 * saved.sum())}
    edit = SetTo(rows[touched], shorter)
    yield said_of(context, NAME, facts, rows[touched], (edit,), "medium", "model", at_most=True)


def _bytes(context: Context, rows: Array) -> Array:
    """Bytes of vector kernels, 0 for products and where shapes do not tell."""
    found = context.views.roofline
    by_row = np.zeros(len(context.trace.task))
    by_row[found.row] = np.where(found.cube, 0.0, found.bytes)
    picked: Array = by_row[rows]
    return picked


def _rate(context: Context, rows: Array) -> Array:
    """Share of the memory's bandwidth."""
    rate: Array = _bytes(context, rows) / np.maximum(context.basis.durations(rows), 1) / context.chip.memory_gbps
    return rate


def _pairs(context: Context, rows: Array, bound: Array) -> tuple[Array, Array, Array]:
    """Positions of kernels of which the second reads what the first wrote, and the bytes of that tensor."""
    after = next_on_stream(context, rows)
    first = np.flatnonzero(bound & (after >= 0) & bound[np.maximum(after, 0)])
    second = after[first]
    out_shapes, out_types = texts(context, rows[first], "out_shapes"), texts(context, rows[first], "out_dtypes")
    in_shapes, in_types = texts(context, rows[second], "in_shapes"), texts(context, rows[second], "in_dtypes")
    whole = [";" not in s and (s, t) in zip(i.split(";"), j.split(";"), strict=False)
             for s, t, i, j in zip(out_shapes, out_types, in_shapes, in_types, strict=True)]  # fmt: skip
    size = np.array([total_bytes(s, t) for s, t in zip(out_shapes, out_types, strict=True)], float)
    fits = np.array(whole, bool)
    return first[fits], second[fits], size[fits]
