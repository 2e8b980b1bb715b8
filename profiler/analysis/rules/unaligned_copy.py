"""Rule 41: copies inside the device whose size is no multiple of 512 bytes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from npu import cost, events
from profiler.analysis.breakdown import in_collective
from profiler.analysis.calls import column
from profiler.analysis.context import Context
from profiler.analysis.edits import SetTo
from profiler.analysis.groups import largest
from profiler.analysis.judge import REPEAT_MIN, Name, judged
from profiler.findings import Finding
from profiler.trace import Array

NAME = Name("unaligned-copy", 41, "copy")
ALIGNED = 512  # bytes; the engines move whole lines of it (catalogue)
SHARE = 0.01  # of the window (catalogue)
D2D = events.DIRECTIONS.index("d2d")
EVIDENCE_MOST = 3


def unaligned_copy(context: Context) -> Iterator[Finding]:
    """Fires when such copies of over 512 bytes take 1 % of the window. Gain: each at the rate of the window's aligned copies,
    or without any by the chip's curve, for the next larger multiple."""
    trace = context.trace
    if not trace.task:
        return
    size = column(trace, "task", "bytes")
    mask = trace.tasks_of("copy") & ~in_collective(trace) & (column(trace, "task", "direction") == D2D) & (size > ALIGNED)
    odd = context.tasks_in_window(mask & (size % ALIGNED != 0))
    length = context.basis.durations(odd)
    if len(odd) < REPEAT_MIN or int(length.sum()) < SHARE * context.length:
        return
    even = context.tasks_in_window(mask & (size % ALIGNED == 0))
    padded = -(-size[odd].astype(np.int64) // ALIGNED) * ALIGNED
    curve = cost.copy_ns(0, "d2d", "pinned", context.chip)
    wanted: Array = curve.latency_ns + padded / curve.bytes_per_ns
    if len(even) >= REPEAT_MIN:
        wanted = padded * float(np.median(context.basis.durations(even) / size[even]))
    facts = {
        "count": len(odd),
        "total_ns": int(length.sum()),
        "total_bytes": int(size[odd].sum()),
        "gbps": float(size[odd].sum() / max(1, int(length.sum()))),
        "aligned": len(even),
        "aligned_gbps": float(np.median(padded / np.maximum(wanted, 1))),
    }
    calls = context.launches.row[odd]
    yield judged(
        context,
        NAME,
        facts,
        (SetTo(odd, np.minimum(wanted.astype(np.int64), length)),),
        confidence="medium" if len(even) >= REPEAT_MIN else "low",
        evidence=context.tasks_shown(odd[largest(length, EVIDENCE_MOST)]),
        sites=context.sites(calls[calls >= 0]),
        method="model",
    )
