"""What the rules on single kernels share: their facts, what ran beside them, and whether a sum is worth a word."""

from __future__ import annotations

import numpy as np

from npu import events
from profiler.analysis.calls import column
from profiler.analysis.context import Context
from profiler.analysis.groups import sort_by
from profiler.analysis.judge import NOTE, NOTE_NS
from profiler.analysis.rules.contiguous_copies import MOVERS
from profiler.analysis.rules.kernels import LAYOUT, computing, most_frequent, taken
from profiler.analysis.rules.zero_fill import FILLERS
from profiler.trace import Array

MIXED = ("MIX_AIC", "MIX_AIV")
ENGINES = ("DSA_SQE",)  # task types of kernels beside the cores
# Operators that only move data: other rules say that they should not be there (12 to 16).
MOVING = frozenset((*LAYOUT, *MOVERS, *FILLERS, "Cast"))
# Operators whose time depends on the values or lengths they are given, not on their shapes alone.
BY_VALUE = (
    "GroupedMatmul", "Moe", "NonZero", "Unique", "MaskedSelect", "Where", "TopK", "Sort", "IncreFlashAttention",
    "FusedInferAttention", "PagedAttention", "NMS", "NonMaxSuppression", "RepeatInterleave",
)  # fmt: skip


def described(context: Context, rows: Array) -> dict[str, object]:
    """How many kernels, their time and its share, and which they are: the longest operator types first."""
    shapes = most_frequent(context, rows, "in_shapes", 1) or "-"
    return taken(context, rows) | {"ops": longest_types(context, rows), "shapes": f"[{shapes}]"}


def longest_types(context: Context, rows: Array, most: int = 3) -> str:
    """Operator types by their time, as "a, b, c"."""
    found, place = np.unique(column(context.trace, "task", "op_type")[rows], return_inverse=True)
    order = np.argsort(-np.bincount(place, context.basis.durations(rows)), kind="stable")[:most]
    return ", ".join(context.trace.strings[int(found[i])] or "-" for i in order)


def share(context: Context, rows: Array) -> float:
    """Time of kernels over the computing time."""
    return int(context.basis.durations(rows).sum()) / computing(context)


def worth(context: Context, ns: int) -> bool:
    """True when a time without a gain is large enough to be named: the note level."""
    return ns >= NOTE * context.length and ns >= NOTE_NS * context.count


def chip_known(context: Context) -> bool:
    """False where the profile neither names its chip nor lets it be told: then peaks and sizes are those of another one."""
    return "soc" in context.trace.meta


def mixed(context: Context, rows: Array) -> Array:
    """Mask: kernels on cube and vector cores at once. These wait for each other inside the kernel, and the scalar unit counts
    that as work; so their ratios do not tell which pipe bounds them."""
    return np.isin(column(context.trace, "task", "task_type")[rows], context.trace.strings.matching(lambda text: text in MIXED))


def on_cores(context: Context, rows: Array) -> Array:
    """Mask: kernels on cube or vector cores; random numbers come from an engine of their own."""
    return ~np.isin(
        column(context.trace, "task", "task_type")[rows], context.trace.strings.matching(lambda text: text in ENGINES)
    )


def texts(context: Context, rows: Array, name: str) -> list[str]:
    """A text column of the task table over rows, per row."""
    return [context.trace.strings[i] if i >= 0 else "" for i in column(context.trace, "task", name)[rows].tolist()]


def accompanied(context: Context, rows: Array, *kinds: str) -> Array:
    """Mask: another task of these kinds, or a collective when "comm" is among them, ran at the same time on the device."""
    trace = context.trace
    task = trace.task
    wanted = trace.tasks_of(*(k for k in kinds if k != "comm"))
    found = np.zeros(len(rows), bool)
    devices = list(task.counts("device"))
    for device in devices if len(devices) < 2 else np.unique(task["device"][rows]).tolist():
        others = np.flatnonzero(wanted & (task["device"] == device))
        begins, ends = [task["start"][others]], [task["end"][others]]
        if "comm" in kinds and trace.comm:
            ops = np.flatnonzero((trace.comm["level"] == events.COMM_LEVELS.index("op")) & (trace.comm["device"] == device))
            begins.append(trace.comm["start"][ops])
            ends.append(trace.comm["end"][ops])
        begin, end = np.concatenate(begins), np.concatenate(ends)
        order = sort_by(begin)
        if (np.take(begin, order)[1:] >= np.maximum.accumulate(np.take(end, order))[:-1]).all():
            continue  # one at a time
        begin, end = np.sort(begin), np.sort(end)
        mine = task["device"][rows] == device
        started = np.searchsorted(begin, task["end"][rows][mine], side="left")
        ended = np.searchsorted(end, task["start"][rows][mine], side="right")
        found[mine] = started - ended > 1  # itself is one of them
    return found
