"""Defects of times: none, negative, endless, in another unit, too large for a viewer's doubles, rounded, far apart."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from profiler.check.defect import ERROR, NOTE, WARNING, Defect, some
from profiler.read.clock_signs import WEEK, jump, other_unit
from profiler.read.raw_events import NONE, Raw
from profiler.trace import Array

# A double of today's us holds quarters; writers print it in full or as short as it reads back. Of exact times 6 in 1000 do.
QUARTERS, NEAR = (0, 200, 250, 500, 750, 800), 0.95


def no_time(raw: Raw) -> Iterator[Defect]:
    """Slices without a time that can be read, or with time 0 and duration 0 among others that have one."""
    rows = raw.slices
    start, length = raw.start[rows], raw.length[rows]
    unreadable = (start == NONE) | (length == NONE)
    if unreadable.any():
        yield _defect("unreadable_time", raw, rows[unreadable])
    zero = (start == 0) & (length == 0)
    if zero.any() and (start[~zero & ~unreadable] > 0).any():
        yield _defect("no_time", raw, rows[zero])


def negative_duration(raw: Raw) -> Iterator[Defect]:
    """Ranges that end before they begin."""
    rows = raw.slices
    bad = (raw.length[rows] < 0) & (raw.length[rows] != NONE)
    if bad.any():
        yield _defect("negative_duration", raw, rows[bad], worst_ns=int(-raw.length[rows][bad].min()))


def endless(raw: Raw) -> Iterator[Defect]:
    """Ranges of more than a week."""
    rows = raw.slices
    bad = raw.length[rows] > WEEK
    if bad.any():
        yield _defect("endless", raw, rows[bad], days=int(raw.length[rows][bad].max()) // (WEEK // 7))


def negative_time(raw: Raw) -> Iterator[Defect]:
    """Ranges that begin before zero."""
    rows = raw.slices
    bad = (raw.start[rows] < 0) & (raw.start[rows] != NONE)
    if bad.any():
        yield _defect("negative_time", raw, rows[bad], severity=WARNING)


def wrong_unit(raw: Raw) -> Iterator[Defect]:
    """Times that are today's in s, ms or ns: the format counts in us."""
    unit = other_unit(raw.start[raw.sound])
    if unit:
        yield Defect("wrong_unit", WARNING, raw.where, len(raw.sound), {"unit": unit})



def precision(raw: Raw) -> Iterator[Defect]:
    """Times that a double of us cannot hold: Chrome and Perfetto read numbers as doubles, texts as well."""
    rows = raw.sound
    if not len(rows):
        return
    largest = int(np.abs(raw.start[rows]).max())
    step = round(float(np.spacing(largest / 1000)) * 1000)  # ns between two doubles there
    fine = raw.start[rows] % 1000 != 0
    if step < 2 or not fine.any():
        return
    on_grid = np.isin(raw.start[rows] % 1000, QUARTERS)
    if not raw.text_times and step == 250 and on_grid.mean() > NEAR:
        yield Defect("rounded_time", WARNING, raw.where, int(on_grid.sum()), {"step_ns": step})
        return
    broken = _overlapping_as_doubles(raw, rows)
    form = "text_times" if raw.text_times else "number_times"
    yield Defect(form, WARNING if broken else NOTE, raw.where, len(rows), {"step_ns": step, "broken": broken})


def _overlapping_as_doubles(raw: Raw, rows: Array) -> int:
    """Neighbours on a thread that follow one another, and overlap when their starts are doubles of us."""
    order = rows[np.lexsort((raw.start[rows], raw.tid[rows], raw.pid[rows]))]
    start, length = raw.start[order], raw.length[order]
    seen = (start // 1000).astype(np.float64) + (start % 1000) / 1000  # us, as a viewer holds it
    begin = np.rint((seen - np.floor(seen.min())) * 1000).astype(np.int64)  # ns from near by: differences of doubles are exact
    end = begin + length  # durations are small numbers and keep their digits
    same = (raw.pid[order][1:] == raw.pid[order][:-1]) & (raw.tid[order][1:] == raw.tid[order][:-1])
    apart = start[1:] >= start[:-1] + length[:-1]
    return int((same & apart & (begin[1:] < end[:-1])).sum())


def clock_jump(raw: Raw) -> Iterator[Defect]:
    """A silence over all threads that is far longer than everything else: a clock was set, or two captures were joined."""
    rows = raw.sound
    silence, before = jump(raw.start[rows], raw.length[rows])
    if silence:
        after = len(rows) - before
        yield Defect("clock_jump", WARNING, raw.where, min(before, after), {"gap_ns": silence, "before": before, "after": after})



def backwards(raw: Raw) -> Iterator[Defect]:
    """Begin and end events must stand in the order of their times; complete events need not."""
    rows = np.flatnonzero(np.isin(raw.phase, ["B", "E"]) & (raw.start != NONE))
    if len(rows) < 2:
        return
    order = rows[np.lexsort((rows, raw.tid[rows], raw.pid[rows]))]
    same = (raw.pid[order][1:] == raw.pid[order][:-1]) & (raw.tid[order][1:] == raw.tid[order][:-1])
    bad = np.flatnonzero(same & (raw.start[order][1:] < raw.start[order][:-1]))
    if len(bad):
        yield _defect("backwards", raw, order[bad + 1], severity=WARNING)


def _defect(id: str, raw: Raw, rows: Array, severity: str = ERROR, **facts: object) -> Defect:
    return Defect(id, severity, raw.where, len(rows), facts, some(raw.names_of(rows)))
