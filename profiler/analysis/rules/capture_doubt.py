"""Rule 2, second part: device rows that are there and cannot be what happened."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from profiler.analysis.calls import column
from profiler.analysis.context import Context
from profiler.analysis.groups import combined, largest
from profiler.analysis.judge import CAPTURE, CRITICAL, REPEAT_MIN, Name
from profiler.analysis.rules.collectives import kinds
from profiler.analysis.rules.kernels import kernels
from profiler.findings import Evidence, Finding
from profiler.trace import Array

NAME = Name("capture-incomplete", 2, CAPTURE)
COVERED = 3  # kernels behind it on its stream that a row must cover: two may overlap (cube and vector parts of one)
LONGER = 10  # times the middle kernel of its stream
OVERRUN = 0.05  # of the time of the stream's kernels
CLOCK_SLOP = 25_000  # ns; up to 23.6 us were seen in real files (spec of the analyzer, section 3)
EARLY = 0.1  # of the kernels with a launch
TWICE = 0.01  # of the rows
OTHERS = 10  # collectives that tell what is usual
SKEW = 100  # times as long as the middle one of the others


def capture_doubt(context: Context) -> Iterator[Finding]:
    """The findings on rows that stand twice, on kernels that last into others of their stream, and on a first collective that
    lasts a hundred times as long as the others and CRITICAL of the recording; and on clocks that disagree: a tenth of the kernels
    begin over CLOCK_SLOP before their launch. No gain."""
    rows = kernels(context)
    if len(rows) > COVERED:
        twice = _twice(context, rows)
        if twice.sum() >= max(REPEAT_MIN, TWICE * len(rows)):
            facts: dict[str, object] = {"count": int(twice.sum()), "kernels": len(rows)}
            yield Finding("capture-twice", NAME.number, CAPTURE, "warning", facts, None)
        yield from _overrun(context, rows[~twice] if twice.any() else rows)
    yield from _skew(context)
    yield from _clocks(context, rows)


def _clocks(context: Context, rows: Array) -> Iterator[Finding]:
    """Nothing begins before it was launched."""
    if not len(rows) or context.trace.meta.get("simulated"):  # one clock
        return
    linked = rows[context.launches.row[rows] >= 0]
    early = context.launches.time[linked] - context.trace.task["start"][linked]
    wrong = np.flatnonzero(early > CLOCK_SLOP)
    if len(wrong) < max(REPEAT_MIN, EARLY * len(linked)):
        return
    facts = {
        "count": len(wrong),
        "kernels": len(linked),
        "median_ns": int(np.median(early[wrong])),
        "longest_ns": int(early[wrong].max()),
    }
    worst = linked[wrong[largest(early[wrong], 1)]]
    yield Finding("capture-clock", NAME.number, CAPTURE, "warning", facts, None, context.tasks_shown(worst))


def _twice(context: Context, rows: Array) -> Array:
    """Mask over kernels by stream and start: the row before is the same one."""
    task = context.trace.task
    same = np.zeros(len(rows), bool)
    start = np.take(task["start"], rows)
    found = np.flatnonzero(start[1:] == start[:-1]) + 1
    for values in (context.basis.lanes, task["end"], column(context.trace, "task", "name")):
        found = found[np.take(values, rows[found]) == np.take(values, rows[found - 1])]
    same[found] = True
    return same


def _overrun(context: Context, rows: Array) -> Iterator[Finding]:
    """Work on one stream is serial: a row that covers several rows behind it has no true end."""
    task, lane = context.trace.task, context.basis.lanes[rows]
    if len(rows) <= COVERED:
        return
    end = np.take(task["end"], rows)
    covers = np.zeros(len(rows), bool)
    covers[:-COVERED] = (lane[COVERED:] == lane[:-COVERED]) & (end[:-COVERED] >= end[COVERED:])
    if not covers.any():
        return
    start, length = np.take(task["start"], rows), context.basis.durations(rows)
    over = np.zeros(len(rows), np.int64)
    same = lane[1:] == lane[:-1]
    over[:-1] = np.where(same, end[:-1] - start[1:], 0)
    for number in np.unique(lane[covers]).tolist():
        mine = lane == number
        bad = covers & mine & (length > LONGER * np.median(length[mine]))
        excess = int(over[bad].sum())
        if excess < OVERRUN * int(length[mine].sum()):
            continue
        worst = np.flatnonzero(bad)[largest(over[bad], 1)][0]
        row = int(rows[worst])
        facts = {
            "count": int(bad.sum()),
            "name": context.trace.strings[int(column(context.trace, "task", "name")[row])] or "-",
            "longest_ns": int(length[worst]),
            "next_ns": int(start[worst + 1] - start[worst]),
            "median_ns": int(np.median(length[mine])),
            "excess_ns": excess,
        }
        shown = (Evidence(str(facts["name"]), int(start[worst]), int(end[worst]), "task"),)
        yield Finding("capture-overrun", NAME.number, CAPTURE, "warning", facts, None, shown)


def _skew(context: Context) -> Iterator[Finding]:
    """The first collective of the recording waits for ranks that began it later."""
    found, comm = context.collectives, context.trace.comm
    if len(found.row) <= OTHERS:
        return
    row = found.row[np.argsort(comm["start"][found.row], kind="stable")]
    group = combined(*(comm[n][row] for n in ("device", "group") if n in comm))
    first = np.unique(group, return_index=True)[1]
    length = (comm["end"] - comm["start"])[row].astype(np.int64)
    others = np.delete(length, first)
    if len(others) < OTHERS:
        return
    usual, at = int(np.median(others)), int(first[np.argmax(length[first])])
    whole = int(comm["end"][row].max()) - int(comm["start"][row].min())
    if length[at] > SKEW * usual and length[at] >= CRITICAL * whole:
        facts = {
            "name": kinds(context, row[at : at + 1])[0],
            "first_ns": int(length[at]),
            "usual_ns": usual,
            "others": len(others),
            "whole_share": int(length[at]) / whole,
        }
        shown = (Evidence(str(facts["name"]), int(comm["start"][row[at]]), int(comm["end"][row[at]]), "comm"),)
        yield Finding("capture-skew", NAME.number, CAPTURE, "warning", facts, None, shown)
