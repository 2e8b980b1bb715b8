"""What the rules on waits share: waits ranked by their time, from rows or from sums."""

from __future__ import annotations

import numpy as np

from npu.units import duration
from profiler.analysis.calls import SYNC
from profiler.analysis.context import Context
from profiler.analysis.statistics import CallSum, call_sums

RANKED_MOST = 4
BUSY_SHARE = 0.03  # of all recorded host time a sum must have to be worth naming: there is no window to judge it by


def ranking(context: Context) -> str:
    """Waiting calls by total time: "aclrtSynchronizeDevice 1000 x 390 us = 390 ms, ..."."""
    ranked = sync_sums(context)[:RANKED_MOST]
    return ", ".join(f"{s.name} {s.count} x {duration(s.total_ns / s.count)} = {duration(s.total_ns)}" for s in ranked)


def sync_sums(context: Context) -> list[CallSum]:
    """Waiting calls of the window (of the whole source where it holds sums only), the longest first."""
    if not context.trace.api:
        return [s for s in call_sums(context.trace) if s.name in SYNC]
    rows = context.calls_in_window(context.trace.api_named(*SYNC))
    api = context.trace.api
    found = []
    for name in np.unique(api["name"][rows]).tolist():
        mine = rows[api["name"][rows] == name]
        total = int((api["end"] - api["start"])[mine].sum())
        found.append(CallSum(context.trace.strings[name], "acl", len(mine), total))
    return sorted(found, key=lambda s: (-s.total_ns, s.name))


def worth_naming(context: Context, total: int) -> bool:
    """True when a sum is BUSY_SHARE of all sums the source holds."""
    return total >= BUSY_SHARE * sum(s.total_ns for s in call_sums(context.trace))
