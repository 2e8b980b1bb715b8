"""Rule 22: single values read back to the host stop it in every step."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from npu import events
from profiler.analysis.calls import SYNC_EVENT, SYNC_STREAM, blocking, column
from profiler.analysis.context import Context
from profiler.analysis.edits import DropCalls, Unblock
from profiler.analysis.groups import changes, largest
from profiler.analysis.judge import REPEAT_MIN, Name, judged
from profiler.analysis.rules.copies import async_call_ns
from profiler.analysis.rules.host import D2H, copies_of
from profiler.findings import Finding
from profiler.trace import Array

NAME = Name("implicit-sync", 22, "host")
SMALL = 64  # bytes (catalogue); a flag, a loss, a token, an index
# Operators whose result's size the host must know, and those that hand a value to it (names of framework operators).
OPERATORS = ("nonzero", "unique", "masked_select", "_local_scalar_dense", "item", "is_nonzero", "index_put_bool", "where_bool")
# Kernels whose result's size the host must read before it can launch the next.
SIZED = ("NonZero", "NonZeroWithValue", "Unique", "UniqueV2", "UniqueConsecutive", "MaskedSelect", "Where", "NonMaxSuppression")
EVERY = 0.5  # per step: fewer waits than half of the steps are logging
LOOKED_AT = 16  # calls behind such a launch
EVIDENCE_MOST = 3


def implicit_sync(context: Context) -> Iterator[Finding]:
    """Fires when the host is held at least every other step by a copy of at most SMALL bytes to itself, or inside a framework
    operator that needs a value from the device (nonzero, unique, item ...), or by a wait that follows the launch of a kernel
    whose result's size is only known then, and launches more afterwards.

    Gain: these copies do not hold the host, and the wait right before such a copy is not made.
    """
    reads = _reads(context)
    sized = _after_sized(context)
    waits = np.union1d(_in_operators(context), sized)
    steps = max(context.count, REPEAT_MIN * 2)
    before = _waits_before(context, reads)
    held = np.setdiff1d(np.union1d(reads, waits), before)  # a copy and its wait are one read
    if len(held) < EVERY * steps or len(held) < REPEAT_MIN:
        return
    api = context.trace.api
    blocked = held[blocking(context.trace)[held]]
    spent = np.union1d(blocked, before)
    length = (api["end"] - api["start"])[spent]
    operators = _names(context, waits) or _kernel_names(context, sized)
    facts = {
        "count": len(held),
        "per_step": round(len(held) / context.count, 1),
        "waited_ns": int(length.sum()),
        "operators": operators or "-",
        "largest_bytes": int(max(0, column(context.trace, "api", "bytes")[reads].max(initial=0))),
    }
    copies = held[context.launches.first[held] >= 0]
    others = np.setdiff1d(held, copies)
    yield judged(
        context,
        NAME,
        facts,
        (Unblock(copies, async_call_ns()), DropCalls(np.union1d(before, others))),
        confidence="high" if not len(waits) else "medium",
        evidence=context.calls_shown(spent[largest(length, EVIDENCE_MOST)]),
        sites=context.sites(held),
    )


def _reads(context: Context) -> Array:
    """Small copies to the host that hold it: blocking ones, and asynchronous ones whose wait comes next."""
    trace = context.trace
    if not len(trace.api):
        return np.zeros(0, np.int64)
    rows = context.outer
    size = column(trace, "api", "bytes")[rows]
    small = copies_of(context, rows, D2H) & (size >= 0) & (size <= SMALL)
    waits = blocking(trace)[rows]
    next_waits = np.append(waits[1:] & ~changes(trace.api["thread"][rows])[1:], False) if len(rows) else waits
    return _inside(context, rows[small & (waits | (next_waits & trace.api_named("aclrtMemcpyAsync")[rows]))])


def _waits_before(context: Context, reads: Array) -> Array:
    """Waits for a stream right before these copies or, for asynchronous ones, right after."""
    trace, rows = context.trace, context.outer
    if not len(reads):
        return reads
    syncs = trace.api_named(*SYNC_STREAM, *SYNC_EVENT)
    place = np.full(len(trace.api), -1, np.int64)
    place[rows] = np.arange(len(rows))
    found = []
    for step in (-1, 1):
        at = place[reads] + step
        near = rows[np.clip(at, 0, len(rows) - 1)]
        good = (at >= 0) & (at < len(rows)) & (trace.api["thread"][near] == trace.api["thread"][reads]) & syncs[near]
        found.append(near[good & ((step < 0) | ~blocking(trace)[reads])])
    return np.unique(np.concatenate(found))


def _operators(context: Context) -> Array:
    """Marker rows of framework operators that need a value from the device."""
    table = context.trace.marker
    if not table:
        return np.zeros(0, np.int64)
    ids = context.trace.strings.matching(lambda text: text.rpartition("::")[2] in OPERATORS)
    return np.flatnonzero((table["kind"] == events.MARKERS.index("cpu_op")) & np.isin(table["name"], ids))


def _in_operators(context: Context) -> Array:
    """Waiting calls that lie inside such an operator of the same thread."""
    trace, marks = context.trace, _operators(context)
    rows = _inside(context, np.flatnonzero(blocking(trace))) if trace.api else np.zeros(0, np.int64)
    if not len(marks) or not len(rows):
        return np.zeros(0, np.int64)
    held = np.zeros(len(rows), bool)
    for thread in np.unique(trace.marker["thread"][marks]):
        mine = marks[trace.marker["thread"][marks] == thread]
        mine = mine[np.argsort(trace.marker["start"][mine], kind="stable")]
        at = np.searchsorted(trace.marker["start"][mine], trace.api["start"][rows], side="right") - 1
        end = np.maximum.accumulate(trace.marker["end"][mine])[np.maximum(at, 0)]
        held |= (at >= 0) & (trace.api["end"][rows] <= end)
    return rows[held]


def _after_sized(context: Context) -> Array:
    """Waiting calls that come next on a thread after it launched a kernel of SIZED, before it launches another."""
    trace = context.trace
    if not len(trace.api) or "op_type" not in trace.task:
        return np.zeros(0, np.int64)
    kinds = trace.strings.matching(lambda text: text in SIZED)
    tasks = np.flatnonzero(np.isin(trace.task["op_type"], kinds) & (context.launches.row >= 0))
    if not len(tasks):
        return tasks
    outer = context.outer
    place = np.full(len(trace.api), -1, np.int64)
    place[outer] = np.arange(len(outer))
    event = np.where(blocking(trace)[outer], 1, np.where(context.launches.kernels[outer] > 0, 2, 0))
    at = place[np.unique(context.launches.row[tasks])]
    found = []
    for start in at[at >= 0].tolist():
        for row, kind in zip(outer[start + 1 : start + 1 + LOOKED_AT].tolist(), event[start + 1 :].tolist(), strict=False):
            if kind == 2 or trace.api["thread"][row] != trace.api["thread"][outer[start]]:
                break
            if kind == 1:
                found.append(row)
                break
    return _inside(context, np.unique(np.array(found, np.int64)))


def _kernel_names(context: Context, waits: Array) -> str:
    """Which of the SIZED operators there are, when waits follow them."""
    if not len(waits):
        return ""
    held = context.trace.strings.matching(lambda text: text in SIZED)
    ids = np.unique(context.trace.task["op_type"][np.isin(context.trace.task["op_type"], held)])
    return ", ".join(sorted(context.trace.strings[int(i)] for i in ids)[:3])


def _inside(context: Context, rows: Array) -> Array:
    """The calls in the window that are not their thread's last work: something is launched after them."""
    api = context.trace.api
    rows = rows[(api["start"][rows] >= context.window[0]) & (api["start"][rows] < context.window[1])]
    launching = np.flatnonzero(context.launches.kernels > 0)
    last = int(api["start"][launching].max(initial=-1))
    return rows[api["start"][rows] < last]


def _names(context: Context, waits: Array) -> str:
    if not len(waits) or not len(context.trace.marker):
        return ""
    ids = np.unique(context.trace.marker["name"][_operators(context)])
    return ", ".join(sorted({context.trace.strings[int(i)] for i in ids})[:3])
