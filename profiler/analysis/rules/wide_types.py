"""Rule 57: vector kernels compute with 64-bit numbers."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import numpy as np

from profiler.analysis.context import Context
from profiler.analysis.edits import SetTo
from profiler.analysis.judge import Name
from profiler.analysis.kernel_model import NARROWER, Kind, elementwise, modelled_ns, narrowed, per_kind, plain
from profiler.analysis.kernel_work import on_cube
from profiler.analysis.rules.kernels import most_frequent, said_of
from profiler.analysis.rules.operators import described, on_cores, share
from profiler.analysis.shapes import shapes
from profiler.findings import Finding

NAME = Name("fp64-int64-vector", 57, "operator")
SHARE = 0.02  # of the computing time
INT32_MOST = 1 << 31  # elements a 32-bit index cannot number


def fp64_int64_vector(context: Context) -> Iterator[Finding]:
    """Fires when kernels on the cores whose first operand is DOUBLE or a 64-bit integer take 2 % of the computing time. Gain:
    their time by the cost model's ratio of 32-bit to 64-bit types (passes and bytes); at most, for only the program knows the
    range of its values. Silent for tensors whose indices need 64 bits. AI CPU kernels are the matter of rule 45."""
    if "in_dtypes" not in context.trace.task:
        return
    rows = context.basis.kernels("kernel")
    wide = (per_kind(context, rows, _wide) == 1) & on_cores(context, rows)
    mine = rows[wide]
    if not len(mine) or share(context, mine) < SHARE:
        return
    duration = context.basis.durations(mine)
    factor = modelled_ns(context, mine, narrowed) / modelled_ns(context, mine, elementwise)
    shorter = np.minimum(duration * np.where(np.isnan(factor), 1.0, factor), duration)
    facts = described(context, mine) | {
        "types": most_frequent(context, mine, "in_dtypes", 2),
        "saved_ns": int((duration - shorter).sum()),
    }
    edit = SetTo(mine, shorter.astype(np.int64))
    yield said_of(context, NAME, facts, mine, (edit,), "medium", "model", at_most=True)


def _wide(kind: Kind) -> float:
    """1 for a vector kernel whose first operand has a type with a narrower one."""
    tensors = [*shapes(kind.in_shapes), *shapes(kind.out_shapes)]
    known = plain(kind.in_dtypes.split(";")[0]) in NARROWER and not on_cube(kind.op)
    return float(known and all(prod(s) < INT32_MOST for s in tensors if s))
