"""Trace -> lanes: which rows are drawn in which lane, and how deep each one sits.

A lane is one thing that does one thing after the other (a host thread, a stream, a copy engine, a group of ranks); calls
inside calls sit one row lower. A curve is one value over time (memory, a counter).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from npu import events
from profiler.report.words import say
from profiler.trace import Array, Columns, Trace

DEEPEST = 40  # rows of one lane; what overlaps more than this shares the last row


@dataclass(frozen=True, slots=True)
class Lane:
    """Rows of one table in drawing order: by depth, then start. first[d] is where depth d begins; len(first) = depths.

    repeated: the rows are drawn in another lane too (copies on their stream), so statistics must not count them here.
    folded: begins as one thin line.
    """

    group: str
    title: str
    table: str
    rows: Array
    first: tuple[int, ...]
    repeated: bool = False
    folded: bool = False


@dataclass(frozen=True, slots=True)
class Curve:
    """A value over time that holds until the next point; unit "B" for bytes, "" for what the counter's own name says."""

    group: str
    title: str
    unit: str
    time: Array
    values: dict[str, Array]


def depths(start: Array, end: Array) -> Array:
    """Row of each bar so that none overlaps another in its row; bars sorted by start, at the same start the longest first.

    1. A bar that starts after everything before it has ended sits in row 0 (found for all at once by a running maximum).
    2. Only inside clusters of overlapping bars each takes the first row that is free, so that a call lies under its caller.
    """
    depth = np.zeros(len(start), np.int64)
    if len(start) < 2:
        return depth
    covered = np.concatenate(([False], start[1:] < np.maximum.accumulate(end)[:-1]))
    member = covered | np.concatenate((covered[1:], [False]))
    where = np.flatnonzero(member)
    taken: list[int] = []
    out = []
    for inside, begins, ends in zip(covered[where].tolist(), start[where].tolist(), end[where].tolist(), strict=True):
        if not inside:
            taken = [ends]
            out.append(0)
            continue
        for row, until in enumerate(taken):
            if until <= begins:
                taken[row] = ends
                break
        else:
            row = len(taken)
            if row < DEEPEST:
                taken.append(ends)
            else:
                row, taken[-1] = DEEPEST - 1, max(ends, taken[-1])
        out.append(row)
    depth[where] = out
    return depth


def lane(group: str, title: str, table: str, rows: Columns, index: Array, repeated: bool = False, folded: bool = False) -> Lane:
    """Rows of a table as one lane: nested and overlapping ones lie below each other, sorted by depth and start."""
    start = rows["start"][index]
    end = np.maximum(rows["end"][index], start)
    order = np.lexsort((-end, start))
    index, depth = index[order], depths(start[order], end[order])
    by_depth = np.argsort(depth, kind="stable")
    count = np.bincount(depth) if len(depth) else np.zeros(1, np.int64)
    first = tuple(int(n) for n in np.concatenate(([0], np.cumsum(count)[:-1])))
    return Lane(group, title, table, index[by_depth], first, repeated, folded)


def lanes_of(trace: Trace, process: str = "", lang: str = "en") -> list[Lane]:
    """The lanes of one process, host first, then device by device: streams, copies, collectives.

    process: what to write before the group when several processes share the page, e.g. "Rank 1".
    """
    prefix = f"{process} · " if process else ""
    host, device = (prefix + say(key, lang) for key in ("lane.host", "lane.device"))
    return [*_host(trace, host, lang), *_devices(trace, device, lang)]


def curves_of(trace: Trace, process: str = "", lang: str = "en") -> list[Curve]:
    """Memory curves per device and component, then counters per device and name."""
    prefix = f"{process} · " if process else ""
    device = prefix + say("lane.device", lang)
    return [*_memory(trace, device, lang), *_counters(trace, device)]


def _split(*keys: Array) -> Iterator[tuple[tuple[int, ...], Array]]:
    """The row numbers of each combination of keys, in order of the keys."""
    if not len(keys[0]):
        return
    order = np.lexsort(keys[::-1])
    changed = np.any([np.diff(key[order]) != 0 for key in keys], axis=0)
    for rows in np.split(order, np.flatnonzero(changed) + 1):
        rows.sort()
        yield tuple(int(key[rows[0]]) for key in keys), rows


def _column(rows: Columns, name: str) -> Array:
    found = rows.get(name)
    return np.full(len(rows), -1, np.int64) if found is None else found


def _host(trace: Trace, group: str, lang: str) -> Iterator[Lane]:
    steps = np.zeros(0, np.int64)
    if trace.marker:
        is_step = trace.marker["kind"] == events.MARKERS.index("step")
        steps = np.flatnonzero(is_step)
        if len(steps):
            yield lane(group, say("lane.steps", lang), "marker", trace.marker, steps)
    markers = np.setdiff1d(np.arange(len(trace.marker)), steps)
    threads: dict[tuple[int, ...], dict[str, Array]] = {}
    for table, rows, index in (("marker", trace.marker, markers), ("api", trace.api, np.arange(len(trace.api)))):
        if rows and len(index):
            for key, some in _split(_column(rows, "pid")[index], rows["thread"][index]):
                threads.setdefault(key, {})[table] = index[some]
    several = len({pid for pid, _ in threads}) > 1
    for (pid, thread), tables in sorted(threads.items()):
        who = say("lane.thread.of" if several else "lane.thread", lang, thread=thread, pid=pid)
        if "marker" in tables:
            yield lane(group, say("lane.framework", lang, who=who), "marker", trace.marker, tables["marker"])
        if "api" in tables:
            yield lane(group, say("lane.calls", lang, who=who) if "marker" in tables else who, "api", trace.api, tables["api"])


def _devices(trace: Trace, group: str, lang: str) -> Iterator[Lane]:
    devices = sorted({int(d) for t in (trace.task, trace.comm) if t for d in np.unique(t["device"])})
    for device in devices:
        name = f"{group} {device}" if device >= 0 else group
        if trace.task:
            here = np.flatnonzero(trace.task["device"] == device)
            for (stream,), some in _split(trace.task["stream"][here]):
                title = say("lane.stream" if stream >= 0 else "lane.no.stream", lang, stream=stream)
                yield lane(name, title, "task", trace.task, here[some])
            yield from _copies(trace, name, here, lang)
        if trace.comm:
            yield from _collectives(trace, name, np.flatnonzero(trace.comm["device"] == device), lang)


def _copies(trace: Trace, group: str, here: Array, lang: str) -> Iterator[Lane]:
    copies = here[trace.task["kind"][here] == events.KINDS.index("copy")]
    for (code,), some in _split(_column(trace.task, "direction")[copies]):
        title = say(f"lane.{events.DIRECTIONS[code]}" if 0 <= code < len(events.DIRECTIONS) else "lane.copies", lang)
        yield lane(group, title, "task", trace.task, copies[some], repeated=True)


def _collectives(trace: Trace, group: str, here: Array, lang: str) -> Iterator[Lane]:
    comm = trace.comm
    op = comm["level"][here] == events.COMM_LEVELS.index("op")
    groups = _column(comm, "group")
    several = len(np.unique(groups[here][op])) > 1
    for (of,), some in _split(groups[here[op]]):
        label = trace.strings[of] if several else ""
        yield lane(group, f"{say('lane.collectives', lang)} {label}".strip(), "comm", comm, here[op][some])
    for (of, plane), some in _split(groups[here[~op]], _column(comm, "plane")[here[~op]]):
        label = f"{trace.strings[of]} " if several else ""
        title = f"{say('lane.transfers', lang)} {label}" + (say("lane.plane", lang, plane=plane) if plane >= 0 else "")
        yield lane(group, title, "comm", comm, here[~op][some], folded=True)


def _memory(trace: Trace, group: str, lang: str) -> Iterator[Curve]:
    memory = trace.memory
    if not memory:
        return
    for (device, component), rows in _split(_column(memory, "device"), _column(memory, "component")):
        rows = rows[np.argsort(memory["time"][rows], kind="stable")]
        values = {n: _column(memory, n)[rows] for n in ("allocated", "reserved")}
        known = {n: v for n, v in values.items() if (v >= 0).any()}
        if not known:
            sign = np.select([memory["event"][rows] == events.MEMORY_EVENTS.index(e) for e in ("alloc", "free")], [1, -1], 0)
            known = {"allocated": np.cumsum(sign * np.abs(memory["bytes"][rows]))}
        title = f"{say('lane.memory', lang)} {trace.strings[component]}".strip()
        yield Curve(f"{group} {device}" if device >= 0 else group, title, "B", memory["time"][rows], known)


def _counters(trace: Trace, group: str) -> Iterator[Curve]:
    counter = trace.counter
    if not counter:
        return
    for (device, name), rows in _split(counter["device"], counter["name"]):
        rows = rows[np.argsort(counter["time"][rows], kind="stable")]
        value = {"value": counter["value"][rows]}
        yield Curve(f"{group} {device}" if device >= 0 else group, trace.strings[name], "", counter["time"][rows], value)
