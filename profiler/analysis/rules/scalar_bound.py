"""Rule 50: the scalar unit is what the kernel waits for."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from profiler.analysis.context import Context
from profiler.analysis.edits import SetTo
from profiler.analysis.judge import Name
from profiler.analysis.rules.kernels import said_of
from profiler.analysis.rules.operators import described, mixed, share
from profiler.analysis.views.roofline import BOUND, PIPES, busiest, ratio
from profiler.findings import Finding

NAME = Name("scalar-bound", 50, "operator")
AHEAD = 1.5  # of the next pipe
LEAST = 0.4  # of the time; with less no unit is busy and the kernel waits for something else
SHARE = 0.03  # of the computing time
SHORT = 5_000  # ns; below it every kernel is mostly scalar set-up


def scalar_bound(context: Context) -> Iterator[Finding]:
    """Fires when kernels of 5 us and more whose scalar unit works 80 % of the time, or 40 % and 1.5 times as much as any other
    pipe, take 3 % of the computing time. Gain: the scalar unit's time becomes that of the next pipe. Silent for kernels on cube
    and vector cores at once: there the scalar units count waiting for each other."""
    if not context.trace.task:
        return
    rows = context.basis.kernels("kernel")
    rows = rows[context.basis.durations(rows) >= SHORT]
    scalar = ratio(context.trace, "scalar", rows)
    others = busiest(context.trace, [pipe for pipe in PIPES if pipe != "scalar"], rows)
    duration = context.basis.durations(rows)
    bound = (scalar > others) & ((scalar >= BOUND) | ((scalar >= LEAST) & (scalar / AHEAD > others)))
    bound &= ~mixed(context, rows)
    mine = rows[bound]
    if not len(mine) or share(context, mine) < SHARE:
        return
    weight = duration[bound]
    shorter = (weight * (1 - scalar[bound] + others[bound])).astype(np.int64)
    facts = described(context, mine) | {
        "scalar_share": float(np.average(scalar[bound], weights=weight)),
        "next_share": float(np.average(others[bound], weights=weight)),
    }
    yield said_of(context, NAME, facts, mine, (SetTo(mine, shorter),), "medium", "model", at_most=True)
