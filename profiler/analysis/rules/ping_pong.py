"""Rule 38: data goes to the host and comes straight back."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from profiler.analysis.context import Context
from profiler.analysis.edits import Remove
from profiler.analysis.judge import REPEAT_MIN, Name, judged
from profiler.analysis.rules.copies import D2H, H2D, Copies, in_window
from profiler.findings import Finding
from profiler.trace import Array

NAME = Name("ping-pong", 38, "copy")
APART = 1_000_000  # ns from the end of the one to the start of the other (catalogue)
EVIDENCE_MOST = 3


def ping_pong(context: Context) -> Iterator[Finding]:
    """Fires when a copy to the host is followed within 1 ms and the same step by a copy of as many bytes back to the same device,
    with no launch of that thread in between; other copies may lie between the two. Gain: without both. Confidence is medium: what
    the host did with the data in between is not recorded."""
    copies = in_window(context)
    if not len(copies.rows):
        return
    out, back = _pairs(context, copies)
    if len(out) < REPEAT_MIN:
        return
    task, api = context.trace.task, context.trace.api
    rows = np.concatenate((copies.rows[out], copies.rows[back]))
    tasks = np.concatenate((copies.task[out], copies.task[back]))
    facts = {
        "count": len(out),
        "per_step": round(len(out) / context.count, 1),
        "total_bytes": int(copies.bytes[out].sum() + copies.bytes[back].sum()),
        "total_ns": int((task["end"] - task["start"])[tasks].sum()),
        "apart_ns": int(np.median(api["start"][copies.rows[back]] - api["end"][copies.rows[out]])),
    }
    yield judged(
        context,
        NAME,
        facts,
        (Remove(tasks, rows),),
        confidence="medium",
        evidence=context.tasks_shown(copies.task[out[:EVIDENCE_MOST]]),
        sites=context.sites(rows),
    )


def _pairs(context: Context, copies: Copies) -> tuple[Array, Array]:
    """Positions of copies out and of the copies back that belong to them: of one thread the next of as many bytes, with nothing
    launched between the two; several tensors may go out before the first comes back."""
    api, task = context.trace.api, context.trace.task
    thread, start, end = (api[n][copies.rows] for n in ("thread", "start", "end"))
    device = task["device"][copies.task]
    step = context.steps.of(start)
    launched = _launches_before(context, copies)
    waiting: dict[tuple[int, int, int], list[int]] = {}
    out, back = [], []
    for at in np.lexsort((start, thread)).tolist():
        if copies.bytes[at] <= 0:
            continue
        key = (int(thread[at]), int(copies.bytes[at]), int(device[at]))
        if copies.direction[at] == D2H:
            waiting.setdefault(key, []).append(at)
        elif copies.direction[at] == H2D and waiting.get(key):
            # First out, first back, of those that are still close enough.
            near = [w for w in waiting.pop(key) if launched[w] == launched[at] and start[at] - end[w] < APART]
            if near and step[near[0]] == step[at] and (step[at] >= 0 or not context.steps.judged):
                out.append(near[0])
                back.append(at)
                waiting[key] = near[1:]
    return np.array(out, np.int64), np.array(back, np.int64)


def _launches_before(context: Context, copies: Copies) -> Array:
    """Per copy how many kernel launches its thread made before it."""
    api = context.trace.api
    launching = np.flatnonzero(context.launches.kernels > 0)
    thread, start = api["thread"][copies.rows], api["start"][copies.rows]
    count = np.zeros(len(copies.rows), np.int64)
    for number in np.unique(thread):
        mine = thread == number
        count[mine] = np.searchsorted(np.sort(api["start"][launching[api["thread"][launching] == number]]), start[mine])
    return count
