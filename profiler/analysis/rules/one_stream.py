"""Rule 27: work that has nothing to do with each other shares one stream."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from npu.units import duration
from profiler import intervals
from profiler.analysis.calls import SYNC_DEVICE, SYNC_STREAM, column
from profiler.analysis.context import Context
from profiler.analysis.edits import DropCalls, Edit, Narrow, Scale, Spread
from profiler.analysis.gaps import busy
from profiler.analysis.graph import GAP_FLOOR
from profiler.analysis.groups import changes, values_of
from profiler.analysis.judge import REPEAT_MIN, WARNING, Name, judged
from profiler.analysis.rules.buffers import Buffers
from profiler.analysis.rules.packing import Kernel, stretch
from profiler.analysis.rules.sync_every_submit import direct
from profiler.analysis.views.roofline import cores
from profiler.findings import Finding
from profiler.trace import Array

NAME = Name("one-stream", 27, "host")
VECTOR = ("AI_VECTOR_CORE", "MIX_AIV")
TURNS = 1.9  # times as long on two streams: kernels take turns at the cores
MOST = 8  # streams tried; more feeds than this share them
SAMPLED = 16  # steps whose buffers are compared; the others do the same
ENOUGH = 0.95  # of the best gain: fewer streams that reach it are preferred
EVIDENCE_MOST = 3


def one_stream(context: Context) -> Iterator[Finding]:
    """Fires per stream that serves several host threads, or steps with buffers of their own, when kernels leave cores free or
    copies on the same stream run uncovered, and more streams gain 3 % of the window.

    Gain: items in turn on 2 to 8 streams; kernels begin when the cores they ask for are free; each copy engine stays one; waits
    are for own work only, and those right behind each submission are not made. Silent where buffers prove that each item needs
    the one before it, and for steps of one thread where buffers are not known: nothing says that they are independent.
    """
    if not len(context.launches.row) or not len(context.trace.api):
        return
    rows = context.tasks_in_window(~context.graph.chains.member & (context.launches.row >= 0))
    task = context.trace.task
    lane = context.basis.lanes[rows]
    for number in np.flatnonzero(np.bincount(lane)).tolist():
        mine = rows[lane == number]
        mine = mine[np.argsort(context.graph.chains.task[mine], kind="stable")]
        if context.trace.tasks_of("kernel")[mine].any():
            yield from _on(context, int(task["device"][mine[0]]), int(task["stream"][mine[0]]), mine)


def _on(context: Context, device: int, stream: int, rows: Array) -> Iterator[Finding]:
    item, threads = _items(context, rows)
    count = int(item[-1]) + 1 if len(item) else 0
    if count < REPEAT_MIN:
        return
    buffers = Buffers(context)
    if threads < 2 and not buffers.known:
        return
    exposed = _exposed(context, device, rows)
    kernels = rows[context.trace.tasks_of("kernel")[rows]]
    if _stretch(context, rows, item, 2) > TURNS and exposed < WARNING * context.length:
        return
    most = min(MOST, threads if threads > 1 else MOST, _independent(context, buffers, device, rows, threads))
    if most < 2:
        return
    free: tuple[Edit, ...] = _waits(context, stream, rows, threads)
    base = max(0, context.gain(free)) if free else 0
    widths = sorted({k for k in (2, 4, 8, most) if k <= most})
    edits = {k: (*free, Spread(rows, item, k, k), Scale(kernels, _stretch(context, rows, item, k))) for k in widths}
    gains = {k: context.gain(made) for k, made in edits.items()}
    best = max(gains.values())
    if best - base < WARNING * context.length:
        return
    chosen = min(k for k in widths if gains[k] >= ENOUGH * best)
    heads = rows[changes(item)]
    calls = context.launches.row[kernels]
    facts = {
        "items": count,
        "threads": threads,
        "streams": chosen,
        "fill_share": _fill(context, rows),
        "exposed_ns": exposed,
        "curve": ", ".join(f"{k}: {duration(max(0, gains[k]))}" for k in widths),
        "models": len(np.unique(column(context.trace, "task", "model")[kernels])),
    }
    yield judged(
        context,
        NAME,
        facts,
        edits[chosen],
        confidence="medium",
        evidence=context.tasks_shown(heads[:EVIDENCE_MOST]),
        sites=context.sites(calls),
        method="model",
    )


def _items(context: Context, rows: Array) -> tuple[Array, int]:
    """Number of the item each task belongs to, ascending along the stream, and how many threads launch kernels there: runs of one
    thread where there are several, else steps."""
    kernels = context.trace.tasks_of("kernel")[rows]
    thread = np.take(context.trace.api["thread"], np.take(context.launches.row, rows))
    threads = len(values_of(thread[kernels]))
    if threads > 1:
        return np.cumsum(changes(thread)) - 1, threads
    if not context.steps.judged:
        return np.zeros(len(rows), np.int64), threads
    step = np.maximum.accumulate(context.steps.of(context.launches.time[rows]))
    return np.cumsum(changes(step)) - 1, threads


def _fill(context: Context, rows: Array) -> float:
    """Share of the cores the kernels take while they run; 1 where the blocks are not known."""
    kernels = rows[context.trace.tasks_of("kernel")[rows]]
    blocks = column(context.trace, "task", "block_dim")[kernels]
    most = cores(context.trace, context.chip, kernels)
    length = context.basis.durations(kernels)
    known = blocks > 0
    if not known.any():
        return 1.0
    share = np.minimum(blocks[known] / np.maximum(most[known], 1), 1)
    return max(1e-3, float((share * length[known]).sum() / max(1, length[known].sum())))


def _stretch(context: Context, rows: Array, item: Array, streams: int) -> float:
    """How many times as long the kernels of the median item take on so many streams side by side."""
    trace, task = context.trace, context.trace.task
    kernels = np.flatnonzero(trace.tasks_of("kernel")[rows])
    spent = np.bincount(item[kernels], context.basis.durations(rows[kernels]))
    median = int(np.argsort(spent, kind="stable")[len(spent) // 2])
    mine = rows[kernels[item[kernels] == median]]
    blocks = column(trace, "task", "block_dim")[mine].astype(np.int64)
    mixed = np.maximum(column(trace, "task", "mix_block_dim")[mine], 0)
    vector = np.isin(column(trace, "task", "task_type")[mine], trace.strings.matching(lambda text: text in VECTOR))
    blocks = np.where(blocks > 0, blocks, np.where(vector, context.chip.vector_cores, context.chip.aic))
    cube = np.minimum(np.where(vector, 0, blocks), context.chip.aic)
    wide = np.minimum(np.where(vector, blocks, mixed), context.chip.vector_cores)
    gap = np.diff(task["start"][mine], prepend=task["start"][mine[:1]])
    gap[1:] = np.clip(gap[1:] - context.basis.durations(mine)[:-1], 0, GAP_FLOOR)
    made = [
        Kernel(*values)
        for values in zip(cube.tolist(), wide.tolist(), context.basis.durations(mine).tolist(), gap.tolist(), strict=True)
    ]
    return stretch(made, streams, context.chip.aic, context.chip.vector_cores)


def _exposed(context: Context, device: int, rows: Array) -> int:
    """Time of copies on the stream that no kernel covers, ns."""
    task = context.trace.task
    copies = rows[context.trace.tasks_of("copy")[rows]]
    if not len(copies):
        return 0
    spans = intervals.union(task["start"][copies], task["end"][copies])
    return intervals.length(intervals.subtract(spans, busy(context.trace, device, copies=False)))


def _independent(context: Context, buffers: Buffers, device: int, rows: Array, threads: int) -> int:
    """How many items in a row touch no buffer that another of them needs; MOST where buffers are not known. What an item does on
    other streams (its copies) belongs to it: it is what its thread launched in the same step."""
    if not buffers.known:
        return MOST
    launches, api = context.launches, context.trace.api
    own = np.unique(api["thread"][launches.row[rows]])
    task = context.tasks_in_window((launches.row >= 0) & (context.trace.task["device"] == device))
    task = task[np.isin(api["thread"][launches.row[task]], own)]
    task = task[np.argsort(launches.time[task], kind="stable")]
    if threads > 1:
        groups = [_distinct(buffers, task[api["thread"][launches.row[task]] == thread]) for thread in own]
        apart = any(_needs(buffers, a, b) for n, a in enumerate(groups) for b in groups[n + 1 :])
        return 1 if apart else MOST
    step = np.maximum.accumulate(context.steps.of(launches.time[task]))
    groups = [_distinct(buffers, part) for part in np.split(task, np.flatnonzero(changes(step))[1:])[:SAMPLED]]
    for distance in range(1, MOST):
        if any(_needs(buffers, a, b) for a, b in zip(groups, groups[distance:], strict=False)):
            return distance
    return MOST


def _needs(buffers: Buffers, first: list[int], second: list[int]) -> bool:
    """Some task of the second group has to come after one of the first."""
    return any(buffers.conflict(a, b) for a in first for b in second)


def _distinct(buffers: Buffers, rows: Array) -> list[int]:
    """One task for each pair of texts."""
    seen = {(int(buffers.reads[r]), int(buffers.writes[r])): int(r) for r in rows.tolist() if buffers.tells(int(r))}
    return list(seen.values())


def _waits(context: Context, stream: int, rows: Array, threads: int) -> tuple[Edit, ...]:
    """What happens to waits for the stream: of several threads each waits for its own work; of one the waits right behind each
    submission go."""
    trace = context.trace
    syncs = context.calls_in_window(trace.api_named(*SYNC_STREAM, *SYNC_DEVICE))
    if threads > 1:
        own: Sequence[int] = np.unique(trace.api["thread"][context.launches.row[rows]]).tolist()
        mine = np.isin(trace.api["thread"][syncs], own)
        known = column(trace, "api", "stream")[syncs]
        mine &= (known == stream) | (known < 0) | trace.api_named(*SYNC_DEVICE)[syncs]
        return (Narrow(syncs[mine]),)
    chosen = direct(context, syncs)[0] if len(syncs) else syncs
    return (DropCalls(chosen),) if len(chosen) >= REPEAT_MIN else ()
