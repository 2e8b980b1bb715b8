"""Rule 51: the pipes inside a kernel take turns."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from profiler.analysis.context import Context
from profiler.analysis.edits import SetTo
from profiler.analysis.judge import REPEAT_MIN, Name
from profiler.analysis.rules.kernels import of_type, said_of
from profiler.analysis.rules.operators import MOVING, described, mixed
from profiler.analysis.views.roofline import BOUND, PIPES, ratio
from profiler.findings import Finding

NAME = Name("no-overlap-in-kernel", 51, "operator")
TOGETHER = 0.9  # of the kernel's time its two busiest pipes fill
ALL = 1.25  # of the kernel's time all pipes fill: above it they overlap already
LONG = 20_000  # ns


def no_overlap_in_kernel(context: Context) -> Iterator[Finding]:
    """Fires for kernels of 20 us and more none of whose pipes works 80 % of the time although the two busiest fill 90 % together
    and all of them not much more than the whole: load, compute and store take turns. Gain: the busiest pipe alone, never less
    than the roofline. Silent where all pipes are little used (latency) or fill over 1.25 times the kernel (they overlap), for
    kernels whose busiest unit is the scalar one (rule 50) or that run on cube and vector cores at once, and for kernels that only
    move data (rules 12 to 16)."""
    if not context.trace.task:
        return
    found = context.views.roofline
    long = np.flatnonzero(found.duration >= LONG)
    rows, duration = found.row[long], found.duration[long]
    pipes = np.sort([np.fmax(ratio(context.trace, pipe, rows), 0) for pipe in PIPES], axis=0)
    moving = of_type(context, rows, MOVING.__contains__)
    turns = (pipes[-1] < BOUND) & (pipes[-1] + pipes[-2] >= TOGETHER) & (pipes.sum(axis=0) <= ALL)
    turns &= ~(ratio(context.trace, "scalar", rows) >= pipes[-1])
    chosen = turns & ~moving & ~mixed(context, rows)
    mine = rows[chosen]
    if len(mine) < REPEAT_MIN:
        return
    shorter = np.clip(pipes[-1][chosen] * duration[chosen], np.minimum(found.floor_ns[long], duration)[chosen], duration[chosen])
    facts = described(context, mine) | {
        "first_share": float(np.average(pipes[-1][chosen], weights=duration[chosen])),
        "second_share": float(np.average(pipes[-2][chosen], weights=duration[chosen])),
    }
    yield said_of(context, NAME, facts, mine, (SetTo(mine, shorter.astype(np.int64)),), "medium", "model", at_most=True)
