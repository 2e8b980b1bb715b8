"""Defects of ranges: without an end, overlapping on one thread, twice in the file."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from profiler.check.defect import ERROR, WARNING, Defect, some
from profiler.read.raw_events import Raw
from profiler.trace import Array


def no_slices(raw: Raw) -> Iterator[Defect]:
    """A timeline without anything that lasts shows nothing."""
    if not len(raw):
        yield Defect("no_events", ERROR, raw.where, 0)
    elif not len(raw.slices):
        yield Defect("no_slices", WARNING, raw.where, len(raw))


def unmatched_ranges(raw: Raw) -> Iterator[Defect]:
    """Beginnings (B) without an end (E), and the other way round."""
    for id, rows in (("no_end", raw.unended), ("no_begin", raw.unbegun)):
        if rows:
            yield Defect(id, WARNING, raw.where, len(rows), {}, some(raw.names_of(np.array(rows, np.int64))))


def overlaps(raw: Raw) -> Iterator[Defect]:
    """Slices of one thread that begin inside another and end after it: neither beside it nor nested in it."""
    rows = raw.sound
    rows = rows[np.isin(raw.phase[rows], ["X", "B"])]
    order = rows[np.lexsort((-raw.length[rows], raw.start[rows], raw.tid[rows], raw.pid[rows]))]
    bad: list[int] = []
    worst, lane = 0, (-1, -1)
    open_ends: list[int] = []
    columns = (order, raw.pid[order], raw.tid[order], raw.start[order], raw.length[order])
    for row, pid, tid, start, length in zip(*(c.tolist() for c in columns), strict=True):
        if (pid, tid) != lane:
            lane, open_ends = (pid, tid), []
        while open_ends and open_ends[-1] <= start:
            open_ends.pop()
        if open_ends and start + length > open_ends[-1]:
            bad.append(row)
            worst = max(worst, open_ends[-1] - start)
            open_ends[-1] = start + length  # both are open until the later end
        else:
            open_ends.append(start + length)
    if bad:
        names = some(raw.names_of(np.array(bad, np.int64)))
        yield Defect("overlap", WARNING, raw.where, len(bad), {"worst_ns": worst}, names)


def duplicates(raw: Raw) -> Iterator[Defect]:
    """The same slice more than once: name, thread, start and duration alike."""
    rows = raw.sound
    if len(rows) < 2:
        return
    keys = (raw.name[rows], raw.length[rows], raw.start[rows], raw.tid[rows], raw.pid[rows])
    order = np.lexsort(keys)
    same = _all_equal([k[order] for k in keys]) & (raw.length[rows][order][1:] > 0)  # empty ones may well come in pairs
    again = rows[order[1:][same]]
    if len(again):
        yield Defect("duplicate", WARNING, raw.where, len(again), {}, some(raw.names_of(again)))


def _all_equal(columns: list[Array]) -> Array:
    made = np.ones(len(columns[0]) - 1, bool)
    for column in columns:
        made &= column[1:] == column[:-1]
    return made
