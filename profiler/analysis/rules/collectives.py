"""What the rules about communication share: the collectives of the window, and what of them no kernel covers."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from npu import events
from profiler import intervals
from profiler.analysis.breakdown import Work
from profiler.analysis.context import Context
from profiler.analysis.graph import LAUNCH
from profiler.analysis.views.collectives import TRANSFERS, inside
from profiler.intervals import Spans
from profiler.trace import Array

PART = events.COMM_LEVELS.index("part")
COUNTER = re.compile(r"(@.*|_+\d+)+$")  # hcom_allReduce__822_0@13337 -> hcom_allReduce
RECEIVE = re.compile(r"recv|receive", re.IGNORECASE)
P2P = re.compile(r"send|recv|receive", re.IGNORECASE)


class Exchanges(NamedTuple):
    """Collectives of the window in order of time: at (index into context.collectives), row (of the comm table), start, end, known
    (their parts were recorded); uncovered: their time outside all kernels, and of it waiting and transfer, ns."""

    at: Array
    row: Array
    start: Array
    end: Array
    known: Array
    uncovered: Array
    waiting: Array
    transfer: Array

    def only(self, mask: Array) -> Exchanges:
        return Exchanges(*(column[mask] for column in self))


class Exposed(NamedTuple):
    """Time of the window in collectives that no kernel covers, ns, all devices together. whole: with what no parts tell."""

    whole: int
    waiting: int
    transfer: int
    known: bool


def exchanges(context: Context) -> Exchanges:
    """The collectives that start in the window."""
    return context.once(_exchanges)


def _exchanges(context: Context) -> Exchanges:
    found, comm = context.collectives, context.trace.comm
    none = np.zeros(0, np.int64)
    if not len(found.row):
        return Exchanges(none, none, none, none, none.astype(bool), none, none, none)
    start = comm["start"][found.row].astype(np.int64)
    at = np.flatnonzero((start >= context.window[0]) & (start < context.window[1]))
    at = at[np.argsort(start[at], kind="stable")]
    row = found.row[at]
    end = comm["end"][row].astype(np.int64)
    columns = {name: np.zeros(len(at), np.int64) for name in ("uncovered", "waiting", "transfer")}
    for device in np.unique(comm["device"][row]).tolist():
        mine = np.flatnonzero(comm["device"][row] == device)
        begin, finish = start[at[mine]], end[mine]
        kernels = computing(context, device)
        columns["uncovered"][mine] = finish - begin - intervals.inside(kernels, begin, finish)
        pieces = inside(context.trace, found, device)
        if pieces is not None:
            for name, spans in (("waiting", pieces.waiting), ("transfer", pieces.transfer)):
                columns[name][mine] = intervals.inside(intervals.subtract(spans, kernels), begin, finish)
    return Exchanges(at, row, start[at], end, found.known[at], **columns)


def exposed(context: Context) -> Exposed:
    """What collectives cost the window beyond its kernels."""
    comm, window = context.trace.comm, intervals.union(*(np.array([t]) for t in context.window))
    whole = waiting = transfer = 0
    known = False
    for device in np.unique(comm["device"]).tolist() if comm else []:
        kernels = computing(context, device)
        ops = np.flatnonzero(Work(context.trace, device).collectives)

        def uncovered(spans: Spans, kernels: Spans = kernels) -> int:
            return intervals.length(intervals.intersect(intervals.subtract(spans, kernels), window))

        whole += uncovered(intervals.union(comm["start"][ops], comm["end"][ops]))
        pieces = inside(context.trace, context.collectives, device)
        if pieces is not None:
            known = True
            waiting, transfer = waiting + uncovered(pieces.waiting), transfer + uncovered(pieces.transfer)
    return Exposed(whole, waiting, transfer, known)


def computing(context: Context, device: int) -> Spans:
    """The time in which a device computes."""
    rows = np.flatnonzero(Work(context.trace, device).computing) if context.trace.task else np.zeros(0, np.int64)
    task = context.trace.task
    return intervals.union(task["start"][rows], task["end"][rows]) if len(rows) else Spans(rows, rows)


def kinds(context: Context, rows: Array) -> list[str]:
    """Names of collectives without their numbers and groups."""
    text = context.trace.strings
    return [COUNTER.sub("", text[int(n)]) for n in context.trace.comm["name"][rows]]


def named(context: Context, rows: Array, pattern: re.Pattern[str]) -> Array:
    """Mask: the name of the collective holds the pattern."""
    ids = context.trace.strings.matching(lambda text: bool(pattern.search(text)))
    found: Array = np.isin(context.trace.comm["name"][rows], ids)
    return found


def launched(context: Context, found: Exchanges) -> bool:
    """False when the profile links no collective to a call: then they keep their times in every replay, and only bounds tell."""
    graph = context.graph
    nodes = graph.chains.collective[found.row]
    return bool(np.isin(graph.target[graph.kind == LAUNCH], nodes).any())


class Parts(NamedTuple):
    """Transfers inside the collectives of the window: row of the comm table, place of their collective in `exchanges`."""

    row: Array
    at: Array


def parts(context: Context, found: Exchanges, local: bool = False) -> Parts:
    """Transfers between two ranks (or, local, inside one) with the collective each runs in."""
    comm = context.trace.comm
    if not len(found.row) or "src" not in comm or "dst" not in comm:
        return Parts(*(np.zeros(0, np.int64),) * 2)
    moving = (comm["level"] == PART) & np.isin(comm["part"], TRANSFERS) & (comm["src"] >= 0) & (comm["dst"] >= 0)
    rows = np.flatnonzero(moving & ((comm["src"] == comm["dst"]) == local))
    numbers = comm.get("op")
    if numbers is not None and (numbers[found.row] >= 0).all() and len(np.unique(numbers[found.row])) == len(found.row):
        order = np.argsort(numbers[found.row], kind="stable")
        place = order[np.minimum(np.searchsorted(numbers[found.row][order], numbers[rows]), len(order) - 1)]
        held = numbers[found.row][place] == numbers[rows]
    else:
        place = np.searchsorted(found.start, comm["start"][rows], side="right") - 1
        held = (place >= 0) & (comm["start"][rows] <= found.end[np.maximum(place, 0)])
    return Parts(rows[held], place[held])


def text_of(context: Context, column: str, rows: Array) -> Array:
    """A text column of the comm table, upper case; "" where there is no value."""
    values = context.trace.comm.get(column)
    if values is None:
        return np.full(len(rows), "", object)
    ids, back = np.unique(values[rows], return_inverse=True)
    made: Array = np.array([context.trace.strings[int(i)].upper() for i in ids], object)[back]
    return made


def spent(context: Context, chosen: Parts, ends: Array | None = None) -> Array:
    """Union of these parts' time per collective, ns, indexed as they are; `ends` instead of the measured ends."""
    comm = context.trace.comm
    count = int(chosen.at.max(initial=-1)) + 1
    start = comm["start"][chosen.row].astype(np.int64)
    end = comm["end"][chosen.row].astype(np.int64) if ends is None else ends
    if not len(start):
        return np.zeros(0, np.int64)
    low, span = int(start.min()), int(end.max() - start.min()) + 1
    spans = intervals.union(start - low + chosen.at * span, end - low + chosen.at * span)
    sums = np.zeros(count, np.int64)
    np.add.at(sums, spans.starts // span, spans.ends - spans.starts)
    return sums
