"""Rule 8: a few shapes cover all executions, but the model was converted for none of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from profiler.analysis.context import Context
from profiler.analysis.judge import REPEAT_MIN, Name
from profiler.analysis.rules.dynamic_fallback import fallback
from profiler.analysis.rules.executions import executions, input_shape
from profiler.analysis.rules.padded_gears import padded_gears
from profiler.analysis.rules.padded_layout import padded_layout
from profiler.findings import Finding

NAME = Name("missing-gears", 8, "graph")
SHAPES_MOST = 16
COVERED = 0.95  # of the executions
SHOWN = 6


def missing_gears(context: Context) -> Iterator[Finding]:
    """Fires when executions run operator by operator with 2 to 16 sets of shapes that cover 95 % of them. Gain: each of the
    covered ones in one launch. Silent when the shapes really vary, and when static models serve them. Apart from that, when
    kernels that take 3 % of the computing time, or half a percent of the window on the critical path, read what a TransData
    right before them padded by more than 25 %, or when executions get an input with over 25 % fewer samples than they compute;
    gain: their time by the share of real elements, at most."""
    yield from padded_layout(context)
    yield from padded_gears(context)
    found = executions(context)
    chosen = np.flatnonzero(found.piecewise)
    if len(chosen) < REPEAT_MIN:
        return
    kinds, first, counts = np.unique(found.shape[chosen], return_index=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:SHAPES_MOST]
    covered = int(counts[order].sum())
    if len(kinds) < 2 or covered < COVERED * len(chosen):
        return
    shown = [f"{input_shape(context, found.kernels[chosen[first[i]]])} ({counts[i]}x)" for i in order[:SHOWN].tolist()]
    more: dict[str, object] = {
        "shapes": len(order),
        "covered_share": covered / len(chosen),
        "histogram": ", ".join(shown),
    }
    yield fallback(context, NAME, found, chosen[np.isin(found.shape[chosen], kinds[order])], more)
