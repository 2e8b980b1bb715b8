"""Ranges the user marked `ignore`: what began in them is left out of a trace, and their time with it.

1. A range (mstx, acl.prof, record_function) counts when its name begins with the word `ignore`, or its domain is that word.
2. What the process began in it goes: calls, markers, samples, and the device work launched there, wherever it ran.
3. The time from the range's begin until its last work is done goes, too, but for the time in which other work keeps a device
   busy: no row of that is ever shortened. A call or step around a range is shorter by it.
Everything behind works on the trace without them; `back` and `row` tell where something stands in the file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from npu import events
from profiler import intervals
from profiler.analysis.breakdown import comm_launch
from profiler.analysis.launches import join
from profiler.intervals import Spans
from profiler.trace import TABLES, Array, Columns, Trace

WORD = re.compile(r"ignore\b", re.IGNORECASE)
KINDS = tuple(events.MARKERS.index(k) for k in ("range", "cpu_op"))
TIMES = ("start", "end", "time", "ready")


@dataclass(frozen=True, eq=False)
class Cut:
    """A trace without its ignored ranges. ranges: how many there were; spans: the time taken out, ns on the file's timeline;
    rows: per table the row of the file of each row."""

    trace: Trace
    ranges: int
    spans: Spans
    rows: Mapping[str, Array]

    @property
    def length(self) -> int:
        """Time taken out, ns."""
        return intervals.length(self.spans)

    def back(self, span: tuple[int, int]) -> tuple[int, int]:
        """A time range on the file's timeline. Its begin lies behind a range left out there, its end before one."""
        if not self.ranges:
            return span
        begin, end = (np.asarray([t], np.int64) for t in span)
        starts, ends = self.spans
        shifted = starts - _taken(self.spans, starts)
        lengths = np.concatenate((np.zeros(1, np.int64), np.cumsum(ends - starts)))
        first = int((begin + lengths[np.searchsorted(shifted, begin, side="right")])[0])
        last = int((end + lengths[np.searchsorted(shifted, end, side="left")])[0])
        return first, max(first, last)

    def row(self, table: str, row: int) -> int:
        """The row of the file."""
        return int(self.rows[table][row]) if table in self.rows else row


def cut(trace: Trace) -> Cut:
    """The trace without what the user told to ignore; the same trace where there is nothing of the kind."""
    marked = _marked(trace)
    if not len(marked):
        return Cut(trace, 0, Spans(np.zeros(0, np.int64), np.zeros(0, np.int64)), {})
    ranges = intervals.union(trace.marker["start"][marked], trace.marker["end"][marked])
    kept = _kept(trace, ranges)
    spans = _time(trace, ranges, kept)
    rows = {name: np.flatnonzero(mask) for name, mask in kept.items()}
    left = replace(trace)
    for name in kept:
        setattr(left, name, _without(getattr(trace, name), rows[name], spans))
    return Cut(left, len(marked), spans, rows)


def _marked(trace: Trace) -> Array:
    """Marker rows that say ignore and have a length."""
    if not trace.marker:
        return np.zeros(0, np.int64)
    says = trace.strings.flags(WORD.match)
    if not says.any():
        return np.zeros(0, np.int64)
    named = says[trace.marker["name"]]
    if "domain" in trace.marker:
        named = named | says[trace.marker["domain"]]
    return np.flatnonzero(named & np.isin(trace.marker["kind"], KINDS) & (trace.marker["end"] > trace.marker["start"]))


def _kept(trace: Trace, ranges: Spans) -> dict[str, Array]:
    """Per table that has rows a mask of those outside of the ranges."""
    begun = {n: getattr(trace, n)["start"] for n in ("api", "marker") if getattr(trace, n)}
    if trace.task:
        begun["task"] = join(trace).time
    if trace.comm:
        begun["comm"] = comm_launch(trace)
    begun |= {n: getattr(trace, n)["time"] for n in ("memory", "counter") if getattr(trace, n)}
    kept = {name: ~_within(ranges, times) for name, times in begun.items()}
    if trace.comm:
        kept["comm"] = _whole(trace.comm, kept["comm"])
    if trace.memory:
        kept["memory"] = _held(trace.memory, kept["memory"])
    return {name: kept[name] for name in TABLES if name in kept}


def _within(ranges: Spans, times: Array) -> Array:
    at = np.searchsorted(ranges.starts, times, side="right") - 1
    inside: Array = (at >= 0) & (times < ranges.ends[np.maximum(at, 0)])
    return inside


def _whole(comm: Columns, kept: Array) -> Array:
    """Parts go with their collective."""
    if "op" not in comm:
        return kept
    key = np.stack([comm.filled(n).astype(np.int64) for n in ("device", "group", "op")], axis=1)
    gone = ~kept & (comm["level"] == events.COMM_LEVELS.index("op")) & (comm["op"] >= 0)
    if not gone.any():
        return kept
    _, number = np.unique(key, axis=0, return_inverse=True)
    number = number.ravel()
    whole: Array = kept & ~np.isin(number, number[gone])
    return whole


def _held(memory: Columns, kept: Array) -> Array:
    """Samples go, and allocations that were released in the ranges as well; all others still hold memory afterwards."""
    inside = ~kept
    sample = memory["event"] == events.MEMORY_EVENTS.index("sample")
    number = memory.filled("allocation")
    found, counts = np.unique(number[inside & ~sample & (number >= 0)], return_counts=True)
    held: Array = ~(inside & (sample | np.isin(number, found[counts > 1])))
    return held


def _time(trace: Trace, ranges: Spans, kept: Mapping[str, Array]) -> Spans:
    """The time to take out: each range until its own device work is done, without the time other device work takes."""
    ends = ranges.ends.copy()
    busy: list[tuple[Array, Array]] = []
    launched = {"task": join(trace).time if trace.task else None, "comm": comm_launch(trace) if trace.comm else None}
    for name in ("task", "comm"):
        table, times = getattr(trace, name), launched[name]
        if times is None:
            continue
        gone = np.flatnonzero(~kept[name])
        at = np.searchsorted(ranges.starts, times[gone], side="right") - 1
        np.maximum.at(ends, np.maximum(at, 0), table["end"][gone])
        work = kept[name] & (trace.tasks_of("kernel", "aicpu", "copy", "memset", "dvpp") if name == "task" else True)
        busy.append((table["start"][work], table["end"][work]))
    out = intervals.union(ranges.starts, ends)
    if not busy:
        return out
    return intervals.subtract(out, intervals.union(*(np.concatenate(side) for side in zip(*busy, strict=True))))


def _taken(spans: Spans, times: Array) -> Array:
    """How much of the spans lies before each time."""
    lengths = np.concatenate((np.zeros(1, np.int64), np.cumsum(spans.ends - spans.starts)))
    at = np.searchsorted(spans.starts, times, side="right")
    reach = np.concatenate((np.full(1, np.iinfo(np.int64).min), spans.ends))[at]
    taken: Array = lengths[at] - np.maximum(reach - times, 0) * (at > 0)
    return taken


def _without(table: Columns, rows: Array, spans: Spans) -> Columns:
    taken = table.take(rows)
    moved = {n: taken[n] - _taken(spans, taken[n]) for n in TIMES if n in taken}
    return taken.with_columns(**moved)
