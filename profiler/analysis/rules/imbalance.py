"""Rule 67: ranks wait for each other in turns."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from profiler.analysis.context import Context
from profiler.analysis.edits import Meet
from profiler.analysis.judge import REPEAT_MIN, Name, judged
from profiler.analysis.rules.collectives import exchanges
from profiler.analysis.rules.late_rank import latest
from profiler.findings import Finding

NAME = Name("imbalance", 67, "communication")
SHARE = 0.05  # of the window (catalogue)
RANKS = 2  # that come last in turns


def imbalance(context: Context) -> Iterator[Finding]:
    """Fires when waiting for other ranks takes SHARE of the window while different ranks come last. Silent when one rank is
    behind most of it (rule 58). Over several profiles also when computing differs by a twentieth between ranks, or the work of
    experts by 1.3.

    Gain: no arrival elsewhere holds this rank any more.
    """
    found, inside = context.collectives, exchanges(context)
    if not len(inside.at) or latest(context) is not None:
        return
    lag = found.lag[inside.at]
    waited = found.waiting[inside.at][inside.known]
    held = lag > 0
    late, times = np.unique(found.last[inside.at][held], return_counts=True)
    if waited.sum() < SHARE * context.length or len(late) < RANKS or held.sum() < REPEAT_MIN:
        return
    order = np.argsort(-times, kind="stable")
    facts = {
        "waiting_ns": int(waited.sum()),
        "waiting_share": float(waited.sum() / context.length),
        "count": int(held.sum()),
        "ranks": ", ".join(str(int(r)) for r in late[order][:8]),
        "mean_ns": int(lag[held].mean()),
        "top": str(int(late[order[0]])),
        "top_share": float(times.max() / max(1, len(inside.at))),
    }
    yield judged(context, NAME, facts, (Meet(inside.row[held]),), confidence="medium")
