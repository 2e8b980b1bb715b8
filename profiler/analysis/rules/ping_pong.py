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
    with no launch of that thread in between. Gain: without both. Confidence is medium: what the host did with the data in between
    is not recorded."""
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
    """Positions of copies out and of the copies back that follow them directly on their thread."""
    api, task = context.trace.api, context.trace.task
    thread = api["thread"][copies.rows]
    step = context.steps.of(api["start"][copies.rows])
    out = np.arange(len(copies.rows) - 1)
    back = out + 1
    good = (copies.direction[out] == D2H) & (copies.direction[back] == H2D) & (thread[out] == thread[back])
    good &= (copies.bytes[out] == copies.bytes[back]) & (copies.bytes[out] > 0)
    good &= (step[out] == step[back]) & ((step[out] >= 0) | (not context.steps.judged))
    good &= task["device"][copies.task[out]] == task["device"][copies.task[back]]
    good &= api["start"][copies.rows[back]] - api["end"][copies.rows[out]] < APART
    launching = np.flatnonzero(context.launches.kernels > 0)
    for number in np.unique(thread[:-1][good]):
        launches = np.sort(api["start"][launching[api["thread"][launching] == number]])
        mine = np.flatnonzero(good & (thread[out] == number))
        between = np.searchsorted(launches, api["start"][copies.rows[back[mine]]]) - np.searchsorted(
            launches, api["start"][copies.rows[out[mine]]]
        )
        good[mine[between > 0]] = False
    return out[good], back[good]
