"""Rule 17: the optimizer updates tensor by tensor."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from profiler.analysis.calls import column
from profiler.analysis.context import Context
from profiler.analysis.edits import Edit, SetTo
from profiler.analysis.groups import combined, distinct
from profiler.analysis.judge import Name
from profiler.analysis.kernel_work import total_bytes
from profiler.analysis.rules.kernels import kernels, of_type, removal, said_of, split_by
from profiler.findings import Finding
from profiler.trace import Array

NAME = Name("per-tensor-optimizer", 17, "graph")
KERNELS_MIN = 50  # in a run at the end of a step (catalogue)
KINDS_MOST = 12  # operator types of such a run: an update repeats a short formula
ELEMENTWISE = (
    "Mul", "Muls", "Add", "Adds", "Axpy", "AxpyV2", "Sub", "Subs", "RealDiv", "Div", "Divs", "Sqrt", "Rsqrt", "Square", "Pow",
    "Pows", "Addcmul", "Addcdiv", "Lerp", "Maximum", "Neg", "Cast", "TensorMove", "Identity", "ZerosLike", "Fill", "MemSet",
    "Reciprocal",
)  # fmt: skip
MOMENTS = (("Sqrt", "Rsqrt"), ("Addcdiv", "RealDiv", "Div"))  # one of each: an update by moments (Adam)


def per_tensor_optimizer(context: Context) -> Iterator[Finding]:
    """Fires when each step ends with 50 and more element-wise kernels of few types on one stream, behind others or with
    the operators of an update by moments. Gain: one
    kernel per type, that lasts as long as the longest of them or as its bytes take, and one launch for it. Silent where Foreach
    or fused optimizers run already: their kernels end the run."""
    task = context.trace.task
    if "op_type" not in task:
        return
    rows = kernels(context)
    wanted = frozenset(ELEMENTWISE)
    simple = of_type(context, rows, lambda text: text in wanted)
    runs = []
    for group in _steps(context, rows):
        tail = _tail(simple[group])
        if tail < KERNELS_MIN:
            continue
        run = rows[group][len(group) - tail :]
        kinds = np.unique(column(context.trace, "task", "op_type")[run])
        alone = tail == len(group) and not _moments(context, kinds)
        if not alone and len(kinds) <= KINDS_MOST:
            runs.append(run)
    if len(runs) * 2 <= context.count:
        return
    yield _finding(context, runs)


def _moments(context: Context, kinds: Array) -> bool:
    names = {context.trace.strings[int(k)] for k in kinds}
    return all(names.intersection(either) for either in MOMENTS)


def _steps(context: Context, rows: Array) -> list[Array]:
    """Positions of the kernels by step and stream, in order; the whole window where there are no steps."""
    task = context.trace.task
    steps = context.steps
    step = steps.of(context.launches.time[rows]) if len(steps.starts) else np.zeros(len(rows), np.int64)
    lane = task["device"][rows].astype(np.int64) * (1 << 32) + task["stream"][rows]
    number = combined(lane, step) if len(rows) else rows
    return split_by(number)


def _tail(simple: Array) -> int:
    """Length of the run of true values at the end."""
    other = np.flatnonzero(~simple)
    return len(simple) - 1 - int(other[-1]) if len(other) else len(simple)


def _finding(context: Context, runs: list[Array]) -> Finding:
    trace = context.trace
    heads, lengths, tails = [], [], []
    for run in runs:
        kinds = column(trace, "task", "op_type")[run]
        for group in split_by(kinds):
            mine = run[group]
            heads.append(int(mine[-1]))
            tails.append(mine[:-1])
            lengths.append(_merged(context, mine))
    rows = np.concatenate(runs)
    others = np.concatenate(tails)
    facts = {
        "count": len(rows),
        "per_step": round(len(rows) / len(runs)),
        "kinds": len(np.unique(column(trace, "task", "op_type")[rows])),
        "total_ns": int(context.basis.durations(rows).sum()),
    }
    edits: tuple[Edit, ...] = (SetTo(np.array(heads), np.array(lengths)), removal(context, others))
    return said_of(context, NAME, facts, rows, edits, "medium", "model")


def _merged(context: Context, rows: Array) -> int:
    """Length of one kernel with the work of all, ns: the longest, or all their bytes at the chip's memory rate."""
    task, text = context.trace.task, context.trace.strings
    names = ("in_shapes", "in_dtypes", "out_shapes", "out_dtypes")
    moved = 0
    if all(n in task for n in names):
        kinds, place = distinct(*(task[n][rows] for n in names))
        counts = np.bincount(place)
        for ids, count in zip(kinds.tolist(), counts.tolist(), strict=True):
            a, b, c, d = (text[i] for i in ids)
            moved += count * (total_bytes(a, b) + total_bytes(c, d))
    return max(int(context.basis.durations(rows).max()), int(moved / context.chip.memory_gbps))
