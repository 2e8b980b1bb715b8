"""Rule 71: device memory leaks, is torn into pieces, runs out, or lies idle."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from npu.units import GIB
from profiler.analysis.calls import column
from profiler.analysis.context import Context
from profiler.analysis.edits import Skip
from profiler.analysis.host_classes import of_class
from profiler.analysis.judge import Name, judged
from profiler.analysis.rules.launch_bound import in_stretches
from profiler.analysis.views.memory import Memory
from profiler.findings import Finding, Gain

NAME = Name("memory-trouble", 71, "copy")
FIT = 0.9  # R squared of a growth that is a leak
GROWTH = 0.01  # of the device's memory over the steps
GROWTH_ALONE = 0.05  # of the device's memory, where no steps tell what grows
LASTING = 0.5  # of the slope in the later half of the steps: a cache that fills flattens
TORN = 0.3  # of the reserved memory unused at its highest use
TORN_BYTES = GIB
SAMPLES = 10  # of the allocator, below which its highest use may have been missed
FULL = 0.9  # of the device's memory
ROOM = 0.5
STALL = 1_000_000  # ns an allocation takes when it must give memory back first (usual: 30 to 200 us, hardware model)
BATCH_MOST = 8  # times the batch; beyond it launches are no longer what limits
EVIDENCE_MOST = 3


def memory_trouble(context: Context) -> Iterator[Finding]:
    """Fires per device (a) for a leak: allocated memory at step ends grows on a line (R squared over 0.9) by 1 % of the device
    over 5 and more steps, and still at half that pace in the later half; (b) for fragmentation: over 30 % and 1 GiB of the
    reserved memory unused at its highest use; (c) above 90 % of the device with allocations that failed or took 1 ms and more
    (gain: these calls); (d) for room: under half of the memory used in a run that launches bind (rule 23; gain: at most the idle
    time a batch that fills the memory saves). Silent for caches that level off, and below 5 steps, where
    only growth through all tenths of the recorded time by GROWTH_ALONE of the device is said."""
    for use in context.views.memory:
        yield from _leak(context, use)
        yield from _growth(context, use)
        yield from _fragmentation(use)
        yield from _nearly_full(context, use)
        yield from _room(context, use)


def _owners(use: Memory) -> str:
    return ", ".join(o.name for o in use.owners[:3] if o.name) or "-"


def _leak(context: Context, use: Memory) -> Iterator[Finding]:
    steps = len(context.steps.ends[context.steps.first :])
    capacity = context.chip.memory
    if use.slope is None or use.fit is None or use.late_slope is None or use.fit <= FIT or use.slope <= 0:
        return
    if use.slope * (steps - 1) <= GROWTH * capacity or use.late_slope < LASTING * use.slope:
        return
    left = max(0, capacity - max(use.peak_bytes, use.reserved_bytes))
    facts = {
        "device": use.device,
        "slope_bytes": int(use.slope),
        "steps": steps,
        "grown_bytes": int(use.slope * (steps - 1)),
        "left_steps": int(left / use.slope),
        "owners": _owners(use),
    }
    yield Finding("memory-leak", NAME.number, NAME.layer, "warning", facts, None)


def _growth(context: Context, use: Memory) -> Iterator[Finding]:
    """Without steps: the highest use of every tenth of the time exceeds that of the one before, at half the pace in the later
    half at least. Loading a model grows as well, and levels off."""
    tenths = use.tenths
    if use.slope is not None or not tenths or any(b <= a for a, b in pairwise(tenths)):
        return
    grown, late = tenths[-1] - tenths[0], tenths[-1] - tenths[4]
    if grown < GROWTH_ALONE * context.chip.memory or late < LASTING * (tenths[4] - tenths[0]):
        return
    facts = {
        "device": use.device,
        "first_bytes": tenths[0],
        "last_bytes": tenths[-1],
        "grown_bytes": grown,
        "owners": _owners(use),
    }
    yield Finding("memory-growth", NAME.number, NAME.layer, "warning", facts, None)


def _fragmentation(use: Memory) -> Iterator[Finding]:
    share = use.fragmentation_share
    if share is None or not use.peak_bytes or use.samples < SAMPLES or share <= TORN or share * use.reserved_bytes <= TORN_BYTES:
        return
    facts = {
        "device": use.device,
        "torn_share": share,
        "torn_bytes": int(share * use.reserved_bytes),
        "reserved_bytes": use.reserved_bytes,
    }
    yield Finding("memory-fragmentation", NAME.number, NAME.layer, "note", facts, None)


def _nearly_full(context: Context, use: Memory) -> Iterator[Finding]:
    most = max(use.peak_bytes, use.reserved_bytes)
    if most <= FULL * context.chip.memory or not context.trace.api:
        return
    rows = context.calls_in_window(of_class(context.trace, "alloc"))
    rows = rows[np.isin(rows, context.outer)]
    length = (context.trace.api["end"] - context.trace.api["start"])[rows]
    failed = column(context.trace, "api", "ret")[rows] > 0
    stalls = rows[(length >= STALL) | failed]
    if not len(stalls):
        return
    facts = {
        "device": use.device,
        "used_share": most / context.chip.memory,
        "used_bytes": most,
        "stalls": len(stalls),
        "failed": int(failed.sum()),
        "stalled_ns": int((context.trace.api["end"] - context.trace.api["start"])[stalls].sum()),
        "owners": _owners(use),
    }
    yield judged(
        context,
        NAME,
        facts,
        (Skip(stalls),),
        confidence="high",
        evidence=context.calls_shown(stalls[:EVIDENCE_MOST]),
        sites=context.sites(stalls),
    )


def _room(context: Context, use: Memory) -> Iterator[Finding]:
    """Doubling what is in memory per launch halves the launches per item: idle time falls to 1 / times."""
    most = max(use.peak_bytes, use.reserved_bytes)
    if not 0 < most < ROOM * context.chip.memory:
        return
    for slow in in_stretches(context):
        times = min(BATCH_MOST, int(FULL * context.chip.memory / most))
        idle = slow.facts["idle_ns"]
        saved = int(idle * (1 - 1 / times)) if isinstance(idle, int) else 0
        facts = {
            "device": use.device,
            "used_share": most / context.chip.memory,
            "used_bytes": most,
            "times": times,
            "idle_ns": idle,
        }
        yield Finding("memory-headroom", NAME.number, NAME.layer, "note", facts, Gain(saved, "bound", "low", at_most=True))
