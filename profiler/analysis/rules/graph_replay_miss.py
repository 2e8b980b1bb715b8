"""Rule 19: a captured graph is replayed, yet many kernels are still launched one by one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from profiler.analysis.context import Context
from profiler.analysis.judge import Name, judged
from profiler.analysis.rules.kernels import most_frequent
from profiler.analysis.rules.launches import by_step, one_launch, own_launches
from profiler.findings import Finding

NAME = Name("graph-replay-miss", 19, "graph")
SHARE = 0.2  # of the kernels
REPLAY = ("aclmdlRI", "aclmdlCapture", "aclrtGraph", "aclmdlExecuteRI")
CAPTURE_WORDS = ("Capture", "Begin")
EVIDENCE_MOST = 3


def graph_replay_miss(context: Context) -> Iterator[Finding]:
    """Fires when calls that replay a captured graph are there and 20 % or more of the kernels have launches of their own. Gain:
    these in one launch a step. Silent where a graph is captured only: a capturing step launches everything itself."""
    trace = context.trace
    replays = np.isin(
        trace.api["name"] if trace.api else [],
        trace.strings.matching(lambda t: t.startswith(REPLAY) and not any(w in t for w in CAPTURE_WORDS)),
    )
    replayed = context.calls_in_window(replays)
    if not len(replayed):
        return
    if not len(replayed):
        return
    rows = own_launches(context)
    every = len(context.basis.kernels())
    if len(rows) < SHARE * every or not len(rows):
        return
    groups = [g for g in by_step(context, rows) if len(g) > 1]
    facts = {
        "call": trace.strings[int(trace.api["name"][replayed[0]])],
        "replays": len(replayed),
        "count": len(rows),
        "kernels": every,
        "kernel_share": len(rows) / every,
        "ops": most_frequent(context, rows, "op_type") or most_frequent(context, rows, "name") or "-",
        "shapes": most_frequent(context, rows, "in_shapes", 2) or "-",
    }
    yield judged(
        context,
        NAME,
        facts,
        one_launch(context, groups),
        confidence="medium",
        evidence=context.tasks_shown(rows[:EVIDENCE_MOST]),
        sites=context.sites(context.launches.row[rows]),
        at_most=True,
    )
