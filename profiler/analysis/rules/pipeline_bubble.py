"""Rule 68: a pipeline stage waits to receive."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from profiler.analysis.context import Context
from profiler.analysis.edits import Shorten
from profiler.analysis.judge import Name, judged
from profiler.analysis.rules.collectives import RECEIVE, exchanges, named
from profiler.analysis.rules.in_sums import of_steps, steps_alone
from profiler.analysis.statistics import StepSums
from profiler.findings import Finding

NAME = Name("pipeline-bubble", 68, "communication")
SHARE = 0.05  # of the window (catalogue)
STAGES = 2  # where the profile names no stages: a pipeline has no fewer


def pipeline_bubble(context: Context) -> Iterator[Finding]:
    """Fires when receive operations that no kernel covers take SHARE of the window. Silent without receives: no pipeline.

    Of p stages and m micro-batches the share (p-1)/(m+p-1) of a step is bubble; gain: twice as many micro-batches make it
    (p-1)/(2m+p-1). m: receives of a step from the one stage before; p: what the profile says of its groups, else two. With the
    sums of steps only: what they call bubble; twice as many micro-batches halve it, at most.
    """
    sums = steps_alone(context)
    if sums is not None:
        yield from _from_sums(sums)
        return
    inside = exchanges(context)
    if not len(inside.row):
        return
    found = inside.only(named(context, inside.row, RECEIVE))
    waited = found.uncovered
    if not len(found.row) or waited.sum() < SHARE * context.length:
        return
    batches = max(1, len(found.row) // context.count)
    stages = max(STAGES, _stages(context))
    now, then = ((stages - 1) / (m + stages - 1) for m in (batches, 2 * batches))
    facts = {
        "count": len(found.row),
        "waiting_ns": int(waited.sum()),
        "waiting_share": float(waited.sum() / context.length),
        "batches": batches,
        "stages": stages,
        "bubble_share": now,
        "doubled_share": then,
    }
    edits = (Shorten(found.row, (waited * (1 - then / now)).astype(np.int64)),)
    yield judged(context, NAME, facts, edits, confidence="low", method="model", at_most=True)


def _from_sums(sums: StepSums) -> Iterator[Finding]:
    if sums.bubble >= SHARE * sums.whole:
        yield of_steps(NAME._replace(id="pipeline-bubble-sums"), sums, sums.bubble, sums.bubble // 2, {})


def _stages(context: Context) -> int:
    """Ranks of the largest point-to-point group; 0 where the profile names none."""
    groups = context.trace.meta.get("groups")
    chosen = groups.get("p2p", []) if isinstance(groups, dict) else []
    return max((len(g) for g in chosen if isinstance(g, list)), default=0)
