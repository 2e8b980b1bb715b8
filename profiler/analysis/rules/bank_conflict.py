"""Rule 52: vector instructions wait for banks of the unified buffer."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from profiler.analysis.context import Context
from profiler.analysis.edits import SetTo
from profiler.analysis.judge import Name
from profiler.analysis.rules.kernels import computing, said_of
from profiler.analysis.rules.operators import described
from profiler.analysis.views.roofline import ratio
from profiler.findings import Finding

NAME = Name("bank-conflict", 52, "operator")
OFTEN = 0.04  # of the kernel's time (limit of the real tools' old hint)
SHARE = 0.01  # of the computing time, per operator type


def bank_conflict(context: Context) -> Iterator[Finding]:
    """Fires for operators of 1 % of the computing time that spend over 4 % of their time in conflicts of banks or of bank groups.
    Gain: the larger of the two shares of their time."""
    if "op_type" not in context.trace.task:
        return
    rows = context.basis.kernels("kernel")
    bank, group = (ratio(context.trace, name, rows) for name in ("vec_bank_cflt", "vec_bankgroup_cflt"))
    conflict = np.nan_to_num(np.fmax(bank, group))
    duration = context.basis.durations(rows)
    often = conflict > OFTEN
    spent = np.bincount(
        context.trace.task["op_type"][rows[often]] + 1, duration[often], minlength=len(context.trace.strings.texts) + 1
    )
    chosen = often & (spent[context.trace.task["op_type"][rows] + 1] >= SHARE * computing(context))
    mine = rows[chosen]
    if not len(mine):
        return
    shorter = (duration[chosen] * (1 - conflict[chosen])).astype(np.int64)
    facts = described(context, mine) | {
        "conflict_share": float(np.average(conflict[chosen], weights=duration[chosen])),
        "bank_share": float(np.average(np.nan_to_num(bank)[chosen], weights=duration[chosen])),
        "group_share": float(np.average(np.nan_to_num(group)[chosen], weights=duration[chosen])),
    }
    yield said_of(context, NAME, facts, mine, (SetTo(mine, shorter),), "medium", "model", at_most=True)
