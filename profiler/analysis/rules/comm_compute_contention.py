"""Rule 65: kernels run slower beside transfers, and the overlap gains little."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from profiler import intervals
from profiler.analysis.context import Context
from profiler.analysis.edits import SetTo
from profiler.analysis.groups import combined
from profiler.analysis.judge import REPEAT_MIN, Name, judged
from profiler.analysis.rules.collectives import computing
from profiler.analysis.views.collectives import inside
from profiler.findings import Finding
from profiler.trace import Array

NAME = Name("comm-compute-contention", 65, "communication")
SLOWER = 1.2  # times as long beside transfers as alone (catalogue)
PAYS = 0.5  # of the hidden time; with more of it left the overlap still pays (catalogue)
BESIDE = 0.5  # of a kernel's time; from there on it counts as overlapped, below a tenth as alone
ALONE = 0.1


def comm_compute_contention(context: Context) -> Iterator[Finding]:
    """Fires when kernels of one type and shape take SLOWER times as long beside transfers as alone (medians of REPEAT_MIN
    each), and what that costs eats more than half of the time the overlap hides. Silent while the overlap still pays.

    Gain: the kernels take what they take alone; at most, since the transfers must then go somewhere else.
    """
    rows = context.basis.kernels()
    task = context.trace.task
    if not len(rows) or not context.trace.comm:
        return
    hidden, excess, slowed = 0, 0, []
    for device in np.unique(task["device"][rows]).tolist():
        pieces = inside(context.trace, context.collectives, device)
        if pieces is None:
            continue
        mine = rows[task["device"][rows] == device]
        start, end = task["start"][mine].astype(np.int64), task["end"][mine].astype(np.int64)
        beside = intervals.inside(pieces.transfer, start, end) / np.maximum(end - start, 1)
        alone = _alone(context, mine, end - start, beside)
        slow = (beside >= BESIDE) & (alone > 0) & (end - start > alone)
        excess += int((end - start - alone)[slow].sum())
        if slow.any():
            hidden += intervals.length(intervals.intersect(pieces.transfer, computing(context, device)))
            slowed.append((mine[slow], alone[slow]))
    if not slowed or excess <= (1 - PAYS) * hidden:
        return
    kernels, lengths = (np.concatenate(c) for c in zip(*slowed, strict=True))
    took = (task["end"] - task["start"])[kernels]
    facts = {
        "count": len(kernels),
        "slower": float(took.sum() / max(1, lengths.sum())),
        "excess_ns": excess,
        "hidden_ns": hidden,
        "net_ns": max(0, hidden - excess),
    }
    yield judged(context, NAME, facts, (SetTo(kernels, lengths),), confidence="low", at_most=True)


def _alone(context: Context, rows: Array, length: Array, beside: Array) -> Array:
    """Median length of each kernel's like outside transfers, ns; 0 where none tells, or where it is not SLOWER beside them."""
    task = context.trace.task
    names = [task[n][rows] for n in ("op_type", "in_shapes", "in_dtypes") if n in task]
    kind = combined(*(names or [task["name"][rows]]))
    usual = np.zeros(len(rows), np.int64)
    for number in np.unique(kind[beside >= BESIDE]).tolist():
        alike = kind == number
        free, covered = alike & (beside <= ALONE), alike & (beside >= BESIDE)
        if free.sum() < REPEAT_MIN or covered.sum() < REPEAT_MIN:
            continue
        median = int(np.median(length[free]))
        if np.median(length[covered]) >= SLOWER * median:
            usual[alike] = median
    return usual
