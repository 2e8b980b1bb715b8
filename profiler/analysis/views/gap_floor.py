"""The gap floor f (view V5): how long a device takes to begin a kernel that has long been queued."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from profiler.analysis.graph import GAP_FLOOR, PAIRS_MIN, QUEUED
from profiler.analysis.launches import Launches
from profiler.analysis.views.pairs import pairs
from profiler.trace import Trace

COLLECT_GAP = 20_000  # ns; a floor above this is what collection costs (spec of the analyzer, section 1)


class Floor(NamedTuple):
    """ns: the 10th percentile of queued gaps, None when fewer than PAIRS_MIN pairs tell it. pairs, queued: how many kernel
    pairs there are and how many of them were queued. half, high: 50th and 95th percentile. cost: the floor summed over all
    pairs, each at most its gap, ns; most: the same over all kernels that follow one on a stream, whatever lies between."""

    ns: int | None
    pairs: int
    queued: int
    half: int
    high: int
    cost: int
    most: int

    @property
    def collecting(self) -> bool:
        """True when collection, not dispatch, makes the gaps."""
        return self.ns is not None and self.ns > COLLECT_GAP

    @property
    def dispatch(self) -> int:
        """What a gap may last before it needs a reason, ns."""
        return GAP_FLOOR if self.ns is None or self.collecting else max(self.ns, GAP_FLOOR)


def gap_floor(trace: Trace, launches: Launches, device: int) -> Floor:
    """Over pairs of kernels that follow each other directly on a stream; queued: the second was launched at least QUEUED
    before the first ended."""
    before, after = pairs(trace, device)
    linked = launches.row[after] >= 0
    before, after = before[linked], after[linked]
    if not len(after):
        return Floor(None, 0, 0, 0, 0, 0, 0)
    gap = trace.task["start"][after] - trace.task["end"][before]
    queued = launches.time[after] <= trace.task["end"][before] - QUEUED
    if queued.sum() < PAIRS_MIN:
        return Floor(None, len(after), int(queued.sum()), 0, 0, 0, 0)
    low, half, high = (int(p) for p in np.percentile(gap[queued], (10, 50, 95)))
    first, second = pairs(trace, device, direct=False)
    loose = trace.task["start"][second] - trace.task["end"][first]
    return Floor(
        low, len(after), int(queued.sum()), half, high, int(np.clip(gap, 0, low).sum()), int(np.clip(loose, 0, low).sum())
    )
