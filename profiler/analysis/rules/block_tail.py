"""Rule 47: the last round of blocks leaves cores empty."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from profiler.analysis.calls import column
from profiler.analysis.context import Context
from profiler.analysis.edits import SetTo
from profiler.analysis.judge import Name
from profiler.analysis.rules.kernels import said_of
from profiler.analysis.rules.operators import accompanied, chip_known, described, on_cores, share
from profiler.analysis.views.roofline import cores
from profiler.findings import Finding

NAME = Name("block-tail", 47, "operator")
UNEVEN = 1.25  # cores there over cores used, over all rounds
LONG = 20_000  # ns
SHARE = 0.03  # of the computing time


def block_tail(context: Context) -> Iterator[Finding]:
    """Fires when kernels of 20 us and more, 3 % of the computing time together, have b blocks for c cores with
    ceil(b / c) * c / b >= 1.25: the last round fills the cores partly. Gain: their time by that ratio, never less than what their
    bytes and operations take. Silent where another kernel runs beside them, which uses the cores left over. Where the profile
    does not name the chip, its core counts are those of the usual one."""
    if "block_dim" not in context.trace.task:
        return
    found = context.views.roofline
    long = np.flatnonzero(found.duration >= LONG)
    rows, duration = found.row[long], found.duration[long]
    blocks, there = column(context.trace, "task", "block_dim")[rows], cores(context.trace, context.chip, rows)
    rounds = np.ceil(np.maximum(blocks, 1) / there)
    uneven = rounds * there / np.maximum(blocks, 1)
    shorter = np.minimum(np.maximum(duration / uneven, found.floor_ns[long]), duration)
    chosen = (blocks > 0) & (uneven >= UNEVEN) & (shorter < duration)
    chosen &= on_cores(context, rows) & ~accompanied(context, rows, "kernel")
    mine = rows[chosen]
    if not len(mine) or share(context, mine) < SHARE:
        return
    longest = int(np.argmax(duration[chosen]))
    facts = described(context, mine) | {
        "blocks": int(blocks[chosen][longest]),
        "cores": int(there[chosen][longest]),
        "saved_ns": int((duration - shorter)[chosen].sum()),
    }
    confidence = "medium" if chip_known(context) else "low"
    yield said_of(context, NAME, facts, mine, (SetTo(mine, shorter[chosen].astype(np.int64)),), confidence, "model", at_most=True)
