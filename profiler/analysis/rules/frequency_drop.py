"""Rule 53: the cores run below their rated clock."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from profiler.analysis.context import Context
from profiler.analysis.edits import SetTo
from profiler.analysis.judge import Name
from profiler.analysis.rules.kernels import said_of
from profiler.analysis.rules.operators import chip_known, described
from profiler.findings import Finding

NAME = Name("frequency-drop", 53, "operator")
RATED = 0.95  # of the chip's clock
CAUSES = ("temp", "power", "voltage")  # counters that tell why


def frequency_drop(context: Context) -> Iterator[Finding]:
    """Fires when the clock during kernels, weighted by their time, is under 95 % of the chip's rated one. Gain: every slow kernel
    at the rated clock, never less than what its bytes take. Lower clocks between kernels do not count. Where the profile
    does not name its chip the highest clock it shows counts as the rated one."""
    if not context.trace.task or not context.views.clocks:
        return
    found = context.views.roofline
    rows, duration = found.row, context.basis.durations(found.row)
    known = chip_known(context)
    rated = context.chip.cube_mhz if known else round(max(c.mhz for c in context.views.clocks if c.time_ns))
    if not len(rows) or not duration.sum():
        return
    mean = float(np.average(found.mhz, weights=duration))
    if mean >= RATED * rated:
        return
    slow = found.mhz < RATED * rated
    mine = rows[slow]
    at_memory = np.minimum(found.bytes / context.chip.memory_gbps, duration)
    shorter = np.maximum(duration * found.mhz / rated, at_memory)[slow].astype(np.int64)
    facts = described(context, mine) | {
        "mean_mhz": round(mean),
        "least_mhz": round(float(found.mhz[slow].min())),
        "rated_mhz": rated,
        "slow_share": int(duration[slow].sum()) / int(duration.sum()),
        "beside": _beside(context),
    }
    yield said_of(context, NAME, facts, mine, (SetTo(mine, shorter),), "medium" if known else "low", "model")


def _beside(context: Context) -> str:
    """Ranges of counters of temperature and power over the window, as recorded."""
    told = [c for c in context.views.counters if any(word in c.name.lower() for word in CAUSES)]
    return ", ".join(f"{c.name} {c.least:g}-{c.most:g}" for c in told) or "-"
