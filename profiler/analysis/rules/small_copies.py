"""Rule 36: many small copies in a row pay the fixed cost of a copy each time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from npu import cost, events
from npu.units import KIB
from profiler.analysis.context import Context
from profiler.analysis.edits import merge
from profiler.analysis.judge import NOTE, Name, judged
from profiler.analysis.rules.copies import Copies, in_window, model_ns
from profiler.findings import Finding
from profiler.trace import Array

NAME = Name("small-copies", 36, "copy")
SMALLER_THAN = 64 * KIB
PER_STEP = 8
EVIDENCE_MOST = 3


def small_copies(context: Context) -> Iterator[Finding]:
    """Fires per direction with at least PER_STEP copies below SMALLER_THAN a step whose fixed costs sum to NOTE of the window.

    Copies of one thread with no launch between them can be packed into one. Gain: one copy of all their bytes instead.
    """
    copies = in_window(context)
    copies = copies.only((copies.bytes >= 0) & (copies.bytes < SMALLER_THAN) & (copies.direction >= 0))
    for direction in np.unique(copies.direction):
        mine = copies.only(copies.direction == direction)
        if len(mine.rows) < PER_STEP * context.count:
            continue
        kind = "pageable" if mine.pageable.any() else "pinned"
        fixed = cost.copy_ns(0, events.DIRECTIONS[direction], kind, context.chip).latency_ns
        if fixed * len(mine.rows) < NOTE * context.length:
            continue
        group = _groups(context, mine)
        sizes = np.bincount(group)
        if sizes.max(initial=0) < 2:
            continue
        yield _finding(context, mine, group, int(direction), kind, fixed)


def _groups(context: Context, copies: Copies) -> Array:
    """Number of the group each copy belongs to: same thread, no kernel launch in between."""
    api = context.trace.api
    launching = np.flatnonzero(context.launches.kernels > 0)
    key = np.zeros((len(copies.rows), 2), np.int64)
    key[:, 0] = api["thread"][copies.rows]
    for thread in np.unique(key[:, 0]):
        launches = np.sort(api["start"][launching[api["thread"][launching] == thread]])
        mine = key[:, 0] == thread
        key[mine, 1] = np.searchsorted(launches, api["start"][copies.rows[mine]])
    return np.unique(key, axis=0, return_inverse=True)[1].ravel()


def _finding(context: Context, copies: Copies, group: Array, direction: int, kind: str, fixed: int) -> Finding:
    task, api = context.trace.task, context.trace.api
    order = np.lexsort((api["start"][copies.rows], group))
    copies, group = copies.only(order), group[order]
    last = np.concatenate((group[1:] != group[:-1], [True]))
    measured = task["end"][copies.task] - task["start"][copies.task]
    count = int(group.max()) + 1
    sums = {n: np.zeros(count, np.int64) for n in ("bytes", "ns")}
    longest, modelled = np.zeros(count, np.int64), np.zeros(count)
    np.add.at(sums["bytes"], group, copies.bytes)
    np.add.at(sums["ns"], group, measured)
    np.maximum.at(longest, group, measured)
    kinds, place = np.unique(copies.bytes, return_inverse=True)
    np.add.at(modelled, group, np.array([model_ns(context, int(b), direction, kind) for b in kinds])[place])
    together = np.array([model_ns(context, int(b), direction, kind) for b in sums["bytes"]])
    merged = np.maximum(longest, together * sums["ns"] / modelled).astype(np.int64)
    facts = {
        "direction": events.DIRECTIONS[direction],
        "count": len(copies.rows),
        "per_step": round(len(copies.rows) / context.count),
        "median_bytes": int(np.median(copies.bytes)),
        "fixed_ns": fixed * len(copies.rows),
    }
    return judged(
        context,
        NAME,
        facts,
        merge(copies.task[last], copies.task[~last], merged, copies.rows[~last]),
        confidence="medium",
        evidence=context.calls_shown(copies.rows[:EVIDENCE_MOST]),
        sites=context.sites(copies.rows),
        method="model",
    )
