"""What the rules on kernels share: picking kernels of the window by operator, their time and place, and their removal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from profiler.analysis.calls import column
from profiler.analysis.context import Context
from profiler.analysis.edits import Edit, Remove
from profiler.analysis.groups import largest, numbered, order_by
from profiler.analysis.judge import NOTE, REPEAT_MIN, Name, judged
from profiler.findings import Finding
from profiler.trace import Array

EVIDENCE_MOST = 3
LAYOUT = ("TransData", "Transpose", "TransposeD", "Permute", "FormatTransfer", "NPUFormatCast", "FormatCast")
CUBE = ("MatMul", "BatchMatMul", "Gemm", "Conv", "Depthwise", "FlashAttention", "GroupedMatmul", "QuantBatchMatmul")


def kernels(context: Context) -> Array:
    """Kernel rows of the window by device, stream and start."""
    return context.basis.streams


def of_type(context: Context, rows: Array, test: Callable[[str], bool]) -> Array:
    """Mask over rows: the operator type passes the test."""
    return context.basis.of_type(rows, test)


def named(*names: str) -> Callable[[str], bool]:
    """A test for operator types that are one of the names."""
    wanted = frozenset(names)
    return lambda text: text in wanted


def computing(context: Context) -> int:
    """|C| of the window over all devices, ns, at least 1."""
    return max(1, sum(b.computing for b in context.breakdown))


def critical_ns(context: Context, rows: Array) -> int:
    """How much of these kernels lies on the critical path, ns."""
    return int(context.basis.durations(rows[context.critical[rows]]).sum())


def matters(context: Context, rows: Array, share: float) -> bool:
    """True when the kernels take that share of the computing time, or NOTE of the window on the critical path."""
    return (
        int(context.basis.durations(rows).sum()) >= share * computing(context)
        or critical_ns(context, rows) >= NOTE * context.length
    )


def next_on_stream(context: Context, rows: Array, step: int = 1) -> Array:
    """Position in rows (ordered as `kernels`) of the kernel `step` places later on the same stream; -1 without one."""
    lane = np.take(context.basis.lanes, rows)
    other = np.arange(step, len(rows) + step, dtype=np.int32)
    if step > 0:
        other[:-step][lane[step:] != lane[:-step]] = -1
        other[-step:] = -1
    else:
        other[-step:][lane[:step] != lane[-step:]] = -1
        other[:-step] = -1
    return other


def removal(context: Context, rows: Array) -> Remove:
    """The kernels fall away, and with them the calls that launched nothing else."""
    launch = context.launches.row
    mine = launch[rows]
    mine = mine[mine >= 0]
    if not len(mine):
        return Remove(rows)
    size = len(context.trace.api)
    all_of = np.bincount(launch[launch >= 0], minlength=size)
    return Remove(rows, np.flatnonzero((np.bincount(mine, minlength=size) == all_of) & (all_of > 0)))


def split_by(values: Array) -> list[Array]:
    """Positions of equal values, in ascending order of the value."""
    order = order_by(numbered(values)[0])
    return np.split(order, np.flatnonzero(np.diff(values[order])) + 1) if len(order) else []


def said_of(
    context: Context,
    name: Name,
    facts: Mapping[str, object],
    rows: Array,
    edits: Sequence[Edit],
    confidence: str = "high",
    method: str = "replay",
    at_most: bool = False,
) -> Finding:
    """A finding about kernels, the longest of them as evidence. Without host calls (files of kernels only) the replay knows the
    order on each stream alone, so its gain is at most that."""
    longest = rows[largest(context.basis.durations(rows), EVIDENCE_MOST)]
    launched = context.launches.row[rows]
    bare = not len(context.trace.api)
    return judged(
        context,
        name,
        facts,
        edits,
        confidence="medium" if bare and confidence == "high" else confidence,
        evidence=context.tasks_shown(longest),
        sites=context.sites(launched[launched >= 0]),
        method=method,
        at_most=at_most or bare,
    )


def taken(context: Context, rows: Array) -> dict[str, object]:
    """What is said of kernels that take a share of the computing time: how many, how long, which."""
    total = int(context.basis.durations(rows).sum())
    return {
        "count": len(rows),
        "per_step": round(len(rows) / context.count, 1),
        "total_ns": total,
        "computing_share": total / computing(context),
        "ops": most_frequent(context, rows, "op_type"),
        "shapes": most_frequent(context, rows, "in_shapes", 2) or "-",
    }


def share_taken(context: Context, name: Name, types: Sequence[str], share: float) -> Iterator[Finding]:
    """The finding that kernels of these types take `share` of the computing time or more; at most all of them can be gained."""
    if "op_type" not in context.trace.task:
        return
    rows = kernels(context)
    mine = of_type(context, rows, named(*types))
    chosen = rows[mine]
    total = int(context.basis.durations(chosen).sum())
    if len(chosen) < REPEAT_MIN or total < share * computing(context):
        return
    after = next_on_stream(context, rows)[mine]
    facts = {
        **taken(context, chosen),
        "before": most_frequent(context, rows[after[after >= 0]], "op_type") or "-",
    }
    yield said_of(context, name, facts, chosen, (removal(context, chosen),), "medium", at_most=True)


def most_frequent(context: Context, rows: Array, name: str, most: int = 3) -> str:
    """The most frequent texts of a task column over rows, as "a, b, c"."""
    values = column(context.trace, "task", name)[rows]
    found, counts = np.unique(values[values >= 0], return_counts=True)
    order = np.argsort(-counts, kind="stable")[:most]
    return ", ".join(context.trace.strings[int(v)] for v in found[order])
