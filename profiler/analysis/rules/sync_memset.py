"""Rule 42: filling device memory holds the host, or the stream."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from npu.cost import call_ns
from npu.units import MIB
from profiler.analysis.breakdown import in_collective
from profiler.analysis.calls import blocking, column
from profiler.analysis.context import Context
from profiler.analysis.edits import Edit, Remove, Unblock
from profiler.analysis.groups import largest
from profiler.analysis.judge import REPEAT_MIN, Name, judged
from profiler.findings import Finding

NAME = Name("sync-memset", 42, "copy")
LARGE = MIB  # bytes; from here on filling costs the device time of its own
EVIDENCE_MOST = 3


def sync_memset(context: Context) -> Iterator[Finding]:
    """Fires when blocking calls fill memory in the window, or asynchronous fills of 1 MiB and more lie on the critical path.
    Gain: the calls return at once; where large fills go away altogether it is a bound."""
    trace = context.trace
    if not trace.api or not trace.task:
        return
    calls = context.calls_in_window(trace.api_named("aclrtMemset", "aclrtMemsetAsync"))
    held = calls[blocking(trace)[calls] & (context.launches.first[calls] >= 0)]
    fills = context.tasks_in_window(trace.tasks_of("memset") & ~in_collective(trace) & context.critical)
    fills = fills[(column(trace, "task", "bytes")[fills] >= LARGE) & ~np.isin(context.launches.row[fills], held)]
    if len(held) + len(fills) < REPEAT_MIN:
        return
    edits: list[Edit] = [Unblock(held, call_ns("aclrtMemsetAsync"))] if len(held) else []
    edits += [Remove(fills)] if len(fills) else []
    tasks = np.concatenate((context.launches.first[held], fills))
    launched = context.launches.row[tasks]
    facts = {
        "count": len(tasks),
        "blocking": len(held),
        "large": len(fills),
        "blocked_ns": int((trace.api["end"] - trace.api["start"])[held].sum()),
        "total_ns": int(context.basis.durations(tasks).sum()),
        "total_bytes": int(np.maximum(column(trace, "task", "bytes")[tasks], 0).sum()),
    }
    yield judged(
        context,
        NAME,
        facts,
        edits,
        confidence="high",
        evidence=context.tasks_shown(tasks[largest(context.basis.durations(tasks), EVIDENCE_MOST)]),
        sites=context.sites(launched[launched >= 0]),
        at_most=bool(len(fills)),
    )
