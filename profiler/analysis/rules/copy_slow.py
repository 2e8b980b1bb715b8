"""Rule 40: large copies are far slower than copies of their kind can be."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from npu import cost, events
from npu.units import MIB
from profiler.analysis.breakdown import in_collective
from profiler.analysis.calls import column
from profiler.analysis.context import Context
from profiler.analysis.edits import SetTo
from profiler.analysis.groups import changes
from profiler.analysis.judge import REPEAT_MIN, Name, judged
from profiler.findings import Finding
from profiler.trace import Array

NAME = Name("copy-slow", 40, "copy")
LARGE = MIB  # bytes; smaller ones are ruled by their fixed cost
SLOW = 0.5  # of the best seen or of the chip's curve (catalogue)
WAYS = ("h2d", "d2h", "d2d")
EVIDENCE_MOST = 3


def copy_slow(context: Context) -> Iterator[Finding]:
    """Fires per direction when copies of 1 MiB and more move at under half of the best rate seen there with their kind of host
    memory, or of the chip's curve for it (unknown memory counts as pageable).

    Gain: these copies at that rate. Copies that run at the same time share a link: their rates are summed.
    """
    if not context.trace.task:
        return
    mask = context.trace.tasks_of("copy") & ~in_collective(context.trace)
    rows = context.tasks_in_window(mask & (column(context.trace, "task", "bytes") >= LARGE))
    direction = _direction(context, rows)
    for way in WAYS:
        mine = rows[direction == events.DIRECTIONS.index(way)]
        if len(mine) >= REPEAT_MIN:
            yield from _of_way(context, way, mine)


def _direction(context: Context, rows: Array) -> Array:
    own = column(context.trace, "task", "direction")[rows]
    call = context.launches.row[rows]
    if not context.trace.api:
        return own
    return np.where((own < 0) & (call >= 0), column(context.trace, "api", "direction")[np.maximum(call, 0)], own)


def _of_way(context: Context, way: str, rows: Array) -> Iterator[Finding]:
    task = context.trace.task
    size = task["bytes"][rows].astype(float)
    length = np.maximum(task["end"][rows] - task["start"][rows], 1)
    share = _shared(context, rows)
    rate = size / length * share
    reachable, known = _reachable(context, way, rows, size)
    best = np.maximum(reachable, _best_of_kind(context, rows, rate))
    slow = rate < SLOW * best
    if slow.sum() < REPEAT_MIN:
        return
    wanted = (size[slow] / best[slow] * share[slow]).astype(np.int64)
    chosen = rows[slow]
    facts = {
        "direction": way.upper(),
        "count": len(chosen),
        "of": len(rows),
        "total_bytes": int(size[slow].sum()),
        "gbps": float(np.median(rate[slow])),
        "best": float(best[slow].max()),
        "median_bytes": int(np.median(size[slow])),
    }
    calls = context.launches.row[chosen]
    yield judged(
        context,
        NAME,
        facts,
        (SetTo(chosen, np.minimum(wanted, length[slow])),),
        confidence="medium" if known or best.max() > reachable.max() else "low",
        evidence=context.tasks_shown(chosen[np.argsort(rate[slow], kind="stable")][:EVIDENCE_MOST]),
        sites=context.sites(calls[calls >= 0]),
        method="model",
    )


def _reachable(context: Context, way: str, rows: Array, size: Array) -> tuple[Array, bool]:
    """Rate of each copy by the chip's curve, bytes per ns, and whether the kind of its host memory is known."""
    kinds = _host_kinds(context, rows)
    pinned = kinds == events.HOST_KINDS.index("pinned")
    made = {name: cost.copy_ns(0, way, name, context.chip) for name in ("pinned", "pageable")}
    rates = [size / (made[name].latency_ns + size / made[name].bytes_per_ns) for name in ("pinned", "pageable")]
    return np.where(pinned, *rates), bool((kinds >= 0).all()) or way == "d2d"


def _host_kinds(context: Context, rows: Array) -> Array:
    """Kind of host memory of each copy, by its task or its call; -1 where neither tells."""
    kinds = column(context.trace, "task", "host_kind")[rows]
    if context.trace.api:
        call = context.launches.row[rows]
        kinds = np.where((kinds < 0) & (call >= 0), column(context.trace, "api", "host_kind")[np.maximum(call, 0)], kinds)
    return kinds


def _best_of_kind(context: Context, rows: Array, rate: Array) -> Array:
    """Per copy the best rate seen with its kind of host memory: pageable memory is rule 34's matter, not a slow link."""
    kinds = _host_kinds(context, rows)
    best = np.zeros(len(rows))
    for kind in np.unique(kinds):
        best[kinds == kind] = rate[kinds == kind].max()
    return best


def _shared(context: Context, rows: Array) -> Array:
    """How many copies of the same direction share the link with each one, itself included: mean over its time."""
    task = context.trace.task
    starts, ends = task["start"][rows], task["end"][rows]
    times = np.concatenate((starts, ends))
    steps = np.repeat(np.array([1, -1]), len(rows))
    order = np.lexsort((steps, times))
    times, depth = times[order], np.cumsum(steps[order])
    area = np.concatenate(([0.0], np.cumsum(depth[:-1] * np.diff(times))))
    first = np.flatnonzero(changes(times))
    times, area = times[first], area[first]
    spent = area[np.searchsorted(times, ends)] - area[np.searchsorted(times, starts)]
    shared: Array = np.maximum(spent / np.maximum(ends - starts, 1), 1.0)
    return shared
