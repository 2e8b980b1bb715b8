"""Rule 30: streams, events, contexts, models, communicators or devices are made and taken down in every step."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from profiler.analysis.context import Context
from profiler.analysis.edits import Skip
from profiler.analysis.judge import REPEAT_MIN, Name
from profiler.analysis.rules.host import judged_calls, launch_times
from profiler.analysis.rules.in_sums import often
from profiler.analysis.statistics import call_sums
from profiler.findings import Finding
from profiler.trace import Array

NAME = Name("create-destroy-in-loop", 30, "host")
CALLS = (  # beginnings of names
    "aclrtCreateStream",
    "aclrtDestroyStream",
    "aclrtCreateEvent",
    "aclrtDestroyEvent",
    "aclrtCreateContext",
    "aclrtDestroyContext",
    "aclrtSetDevice",
    "aclrtResetDevice",
    "aclmdlLoad",
    "aclmdlUnload",
    "aclmdlBundleLoad",
    "HcclCommInit",
    "HcclCommDestroy",
)
EVERY = 0.5  # per step; rarer ones belong to what comes and goes
EVIDENCE_MOST = 3


def create_destroy_in_loop(context: Context) -> Iterator[Finding]:
    """Fires when such calls come at least every other step. Gain: the same run without them, made once
    before the loop; without device rows their time, at most; the same with sums of calls only, when they come often and take
    much of the host's time."""
    trace = context.trace
    if not trace.api:
        sums = [s for s in call_sums(trace) if s.name.startswith(CALLS)]
        yield from often(context, NAME._replace(id="create-destroy-sums"), sums)
        return
    ids = trace.strings.matching(lambda text: text.startswith(CALLS))
    rows = context.calls_in_window(np.isin(trace.api["name"], ids))
    rows = rows[np.isin(rows, context.outer)]
    if len(rows) < max(REPEAT_MIN, EVERY * context.count) or not _repeated(context, rows):
        return
    length = (trace.api["end"] - trace.api["start"])[rows]
    facts = {
        "count": len(rows),
        "per_step": round(len(rows) / context.count, 1),
        "total_ns": int(length.sum()),
        "calls": _by_time(context, rows, length),
    }
    yield judged_calls(context, NAME, facts, rows, Skip(rows))


def _repeated(context: Context, rows: Array) -> bool:
    """True when kernels are launched between such calls, again and again: else they begin or end the program."""
    between = np.searchsorted(launch_times(context), context.trace.api["start"][rows])
    return len(np.unique(between)) >= REPEAT_MIN


def _by_time(context: Context, rows: Array, length: Array) -> str:
    names, place = np.unique(context.trace.api["name"][rows], return_inverse=True)
    order = np.argsort(-np.bincount(place, length), kind="stable")[:EVIDENCE_MOST]
    return ", ".join(context.trace.strings[int(names[i])] for i in order)
