"""Where the time of a device went, step by step (view V3, identical to step_trace_time). All steps at once, vectorised."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from npu import events
from profiler import intervals
from profiler.analysis.calls import column
from profiler.analysis.groups import distinct
from profiler.analysis.launches import Launches
from profiler.analysis.steps import Steps
from profiler.findings import Breakdown
from profiler.intervals import Spans
from profiler.trace import Array, Trace


class Work:
    """The sets of view V1 of one device, as row masks: C kernels and AI CPU tasks, M collectives, P copies outside them."""

    def __init__(self, trace: Trace, device: int) -> None:
        here = trace.task["device"] == device if trace.task else np.zeros(0, bool)
        own = here & ~in_collective(trace)
        self.computing = own & trace.tasks_of("kernel", "aicpu")
        self.aicpu = own & trace.tasks_of("aicpu")
        self.copies = own & trace.tasks_of("copy", "memset")
        op = events.COMM_LEVELS.index("op")
        self.collectives = (trace.comm["level"] == op) & (trace.comm["device"] == device) if trace.comm else np.zeros(0, bool)


def devices(trace: Trace) -> list[int]:
    """Devices with any row, ascending."""
    return sorted({int(d) for t in (trace.task, trace.comm) if t for d in distinct(t["device"])[0][:, 0]})


def in_collective(trace: Trace) -> Array:
    """Mask over task rows that belong to a collective: by correlation, or by device, stream and task id of its parts."""
    if not trace.task or not trace.comm:
        return np.zeros(len(trace.task), bool)
    correlation = trace.comm.get("correlation")
    found = np.zeros(len(trace.task), bool)
    if correlation is not None:
        found |= np.isin(column(trace, "task", "correlation"), correlation[correlation >= 0])
    stream, number = trace.comm.get("stream"), trace.comm.get("task_id")
    if stream is not None and number is not None and "task_id" in trace.task:
        known = (stream >= 0) & (number >= 0)
        found |= np.isin(
            _key(trace.task["device"], trace.task["stream"], trace.task["task_id"]),
            _key(trace.comm["device"][known], stream[known], number[known]),
        )
    return found


def collective_of(trace: Trace) -> Array:
    """Per task row the row of the collective it is a part of, -1 for all others: by correlation, else the one of its device
    that began last before it."""
    owner = np.full(len(trace.task), -1, np.int64)
    members = np.flatnonzero(in_collective(trace))
    if not len(members):
        return owner
    comm = trace.comm
    ops = np.flatnonzero(comm["level"] == events.COMM_LEVELS.index("op"))
    ids, known = column(trace, "task", "correlation")[members], comm.get("correlation")
    if known is not None and len(ops):
        order = ops[np.argsort(known[ops], kind="stable")]
        at = np.minimum(np.searchsorted(known[order], ids), len(order) - 1)
        hit = (ids >= 0) & (known[order[at]] == ids)
        owner[members[hit]] = order[at[hit]]
    rest = members[owner[members] < 0]
    for device in np.unique(trace.task["device"][rest]):
        mine, here = rest[trace.task["device"][rest] == device], ops[comm["device"][ops] == device]
        if len(here):
            here = here[np.argsort(comm["start"][here], kind="stable")]
            at = np.searchsorted(comm["start"][here], trace.task["start"][mine], side="right") - 1
            owner[mine] = np.where(at >= 0, here[np.maximum(at, 0)], -1)
    return owner


def _key(device: Array, stream: Array, number: Array) -> Array:
    return (device.astype(np.int64) << 52) + (stream.astype(np.int64) << 32) + number.astype(np.int64)


def comm_launch(trace: Trace) -> Array:
    """Launch time of each comm row: start of the call with its correlation, else its own start."""
    time = trace.comm["start"].astype(np.int64, copy=True)
    ids, calls = trace.comm.get("correlation"), column(trace, "api", "correlation")
    if ids is None or not len(calls):
        return time
    order = np.argsort(calls, kind="stable")
    at = np.minimum(np.searchsorted(calls[order], ids), len(order) - 1)
    hit = (ids >= 0) & (calls[order][at] == ids)
    time[hit] = trace.api["start"][order[at[hit]]]
    return time


def breakdown(trace: Trace, steps: Steps, launches: Launches) -> tuple[Breakdown, ...]:
    """One record per device and steady step (marked steps: all, when too few are steady); without steps one per device for
    the whole span (step 0)."""
    return tuple(record for device in devices(trace) for record in _of_device(trace, steps, launches, device))


def _of_device(trace: Trace, steps: Steps, launches: Launches, device: int) -> Iterator[Breakdown]:
    work = Work(trace, device)
    c, p = np.flatnonzero(work.computing), np.flatnonzero(work.copies)
    a, m = np.flatnonzero(work.aicpu), np.flatnonzero(work.collectives)
    if not len(c) + len(m):
        return
    marked = steps.kind == "marker"
    stepped = marked or steps.steady > 0
    count = len(steps.starts) if stepped else 1

    def step_of(launch: Array) -> Array:
        return steps.of(launch) if stepped else np.zeros(len(launch), np.int64)

    step = {
        "c": step_of(launches.time[c]),
        "p": step_of(launches.time[p]),
        "a": step_of(launches.time[a]),
        "m": step_of(comm_launch(trace)[m]) if len(m) else np.zeros(0, np.int64),
    }
    times = {
        n: (t["start"][r], t["end"][r]) if len(r) else (r, r)
        for n, t, r in (("c", trace.task, c), ("p", trace.task, p), ("a", trace.task, a), ("m", trace.comm, m))
    }
    first, last = np.full(count, np.iinfo(np.int64).max), np.full(count, np.iinfo(np.int64).min)
    for name in ("c", "m"):
        inside = np.flatnonzero(step[name] >= 0)
        at = np.take(step[name], inside)
        np.minimum.at(first, at, np.take(times[name][0], inside))
        np.maximum.at(last, at, np.take(times[name][1], inside))
    filled = last > first
    # Each step gets a place of its own on one common axis, so that one sweep serves all steps; copies before the first
    # or after the last work of their step lie outside its stage and are cut off.
    stage = np.where(filled, last - first, 0)
    shift = np.cumsum(stage) - stage + np.arange(count)  # one ns apart: steps never touch

    def placed(name: str) -> Spans:
        at = step[name]
        inside = (at >= 0) & np.take(filled, at)
        (starts, ends), at = times[name], at
        if not inside.all():
            starts, ends, at = starts[inside], ends[inside], at[inside]
        low, high, moved = np.take(first, at), np.take(last, at), np.take(shift - first, at)
        return intervals.union(*(np.clip(t, low, high) + moved for t in (starts, ends)))

    def per_step(spans: Spans) -> Array:
        behind = np.append(np.searchsorted(spans.starts, shift[1:]), len(spans.starts))  # each lies in one step
        sums = np.concatenate((np.zeros(1, np.int64), np.cumsum(spans.ends - spans.starts)))
        return np.diff(np.take(sums, behind), prepend=0)

    computing, collectives, copies, aicpu = (placed(n) for n in ("c", "m", "p", "a"))
    busy = computing
    if len(collectives.starts):
        busy = intervals.union(*(np.concatenate(sides) for sides in zip(computing, collectives, strict=True)))
    other = ~work.aicpu[c] if len(a) else np.zeros(len(c), bool)
    step["o"], times["o"] = step["c"][other], (times["c"][0][other], times["c"][1][other])
    sums = {
        "computing": computing,
        "communication": collectives,
        "overlapped": intervals.intersect(computing, collectives),
        "communication_not_overlapped": intervals.subtract(collectives, computing),
        "busy": busy,
        "copies": intervals.subtract(copies, busy),
        "copies_hidden": intervals.intersect(copies, busy),
        "aicpu": intervals.subtract(aicpu, placed("o")),
    }
    lengths = {name: per_step(spans) for name, spans in sums.items()}
    free = stage - lengths.pop("busy")
    # A host that runs ahead ends a step before its work does: then only marked steps have a beginning and an end of their own.
    bounded = marked or (stepped and bool((steps.ends >= last)[filled].all()))
    rank = trace.meta.get("rank", -1)
    for i in range(steps.first if steps.steady else 0, count):
        if not filled[i]:
            continue
        values = {name: int(v[i]) for name, v in lengths.items()}
        yield Breakdown(
            rank=rank if isinstance(rank, int) else -1,
            device=device,
            step=int(steps.ids[i]) if stepped else 0,
            stage=int(stage[i]),
            free=int(free[i]),
            idle=int(free[i]) - values["copies"],
            preparing=int(first[i] - steps.starts[i]) if bounded else None,
            tail=int(steps.ends[i] - last[i]) if bounded else None,
            **values,
        )
