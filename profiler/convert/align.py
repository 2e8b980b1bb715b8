"""How far the clocks of several timelines are apart, and by what that is known.

In this order: offsets given by the user; a marker that all have; clocks that say their distance from unix time; collectives,
which end on all ranks at once; one common clock already (the spans overlap); else the beginnings are laid on one another.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from profiler.convert.timeline import Timeline
from profiler.read.raw_events import NONE
from profiler.trace import Array, Unreadable

# beginnings of names, without case and underscores
COLLECTIVE = ("allreduce", "allgather", "reducescatter", "alltoall", "broadcast", "barrier", "hcom", "nccl")
INSTANTS = ("i", "I", "R", "n")
UNIX = 10**18  # ns: September 2001; times beyond count from 1970


class Shift(NamedTuple):
    """ns to add to a timeline's times. by: given, marker, clock, collective, same, start. name: of the marker or collective.
    pairs: occurrences compared. spread: the largest deviation of a pair from the shift, ns. drift: ppm, None for one pair."""

    ns: int
    by: str
    name: str = ""
    pairs: int = 0
    spread: int = 0
    drift: float | None = None


def shifts(timelines: Sequence[Timeline], marker: str = "", given: Sequence[int] = ()) -> list[Shift]:
    """A shift for each timeline; that of the first is 0. Unreadable for a marker that one of them does not have."""
    first = timelines[0]
    if given:
        return [Shift(0, "given"), *(Shift(ns, "given") for ns in given)]
    made = [Shift(0, "first")]
    for number, other in enumerate(timelines[1:], 1):
        found = _by_marker(first, other, marker) or _by_clock(first, other) or _by_collective(first, other)
        if marker and (found is None or found.by != "marker"):
            lacking = other if _times(first, marker, marks=False) is not None else first
            raise Unreadable(f"{lacking.label} has no event named {marker!r}", "name a mark or range that all files have")
        made.append(found or _by_span(first, timelines[number]))
    return made


def silence(timelines: Sequence[Timeline], found: Sequence[Shift]) -> int:
    """The longest time, ns, in which none of the aligned timelines has anything, between two that have; 0 when they overlap."""
    spans = sorted((_span(t)[0] + s.ns, _span(t)[1] + s.ns) for t, s in zip(timelines, found, strict=True) if len(t.raw.sound))
    reach = spans[0][1] if spans else 0
    longest = 0
    for begin, end in spans[1:]:
        longest = max(longest, begin - reach)
        reach = max(reach, end)
    return longest


def _times(timeline: Timeline, name: str, marks: bool) -> Array | None:
    """Times of the events of a name, in order: of marks, else of the beginnings of ranges."""
    raw = timeline.raw
    id = raw.strings.find(name)
    rows = np.flatnonzero((raw.name == id) & np.isin(raw.phase, INSTANTS) & (raw.start != NONE))
    if not len(rows) and not marks:
        rows = raw.sound[raw.name[raw.sound] == id]
    return np.sort(raw.start[rows]) if len(rows) else None


def _by_marker(first: Timeline, other: Timeline, name: str) -> Shift | None:
    """The given marker; without one, the mark that both have equally often, the rarest first."""
    if name:
        a, b = _times(first, name, marks=False), _times(other, name, marks=False)
        return None if a is None or b is None else _paired("marker", name, a, b)
    both = _marks(first).items() & _marks(other).items()
    for _, common in sorted((count, text) for text, count in both):
        a, b = _times(first, common, marks=True), _times(other, common, marks=True)
        if a is not None and b is not None:
            return _paired("marker", common, a, b)
    return None


def _marks(timeline: Timeline) -> dict[str, int]:
    raw = timeline.raw
    names, counts = np.unique(raw.name[np.isin(raw.phase, INSTANTS)], return_counts=True)
    return {raw.strings[int(n)]: int(c) for n, c in zip(names, counts, strict=True)}


def clock_shift(first: Timeline, other: Timeline) -> int | None:
    """The shift that the files' own offsets from unix time give; None when one of them does not say it."""
    a, b = first.unix_minus_clock, other.unix_minus_clock
    return None if a is None or b is None else b - a


def _by_clock(first: Timeline, other: Timeline) -> Shift | None:
    found = clock_shift(first, other)
    return None if found is None else Shift(found, "clock")


def _by_collective(first: Timeline, other: Timeline) -> Shift | None:
    """Ends of the collectives that both ran equally often: nobody leaves before all have come."""
    a, b = _collective_ends(first), _collective_ends(other)
    common = [n for n in a if n in b and len(a[n]) == len(b[n])]
    if not common or _overlap(first, other):
        return None
    name = max(common, key=lambda n: len(a[n]))
    return _paired("collective", name, a[name], b[name])


def _collective_ends(timeline: Timeline) -> dict[str, Array]:
    raw, rows = timeline.raw, timeline.raw.sound
    wanted = raw.strings.matching(lambda text: text.lower().replace("_", "").startswith(COLLECTIVE))
    rows = rows[np.isin(raw.name[rows], wanted)]
    ends = raw.start[rows] + raw.length[rows]
    return {raw.strings[int(n)]: np.sort(ends[raw.name[rows] == n]) for n in np.unique(raw.name[rows])}


def _by_span(first: Timeline, other: Timeline) -> Shift:
    if _overlap(first, other):
        return Shift(0, "same")
    return Shift(_span(first)[0] - _span(other)[0], "start")


def _overlap(first: Timeline, other: Timeline) -> bool:
    a, b = _span(first), _span(other)
    both_unix = min(a[0], b[0]) >= UNIX
    return both_unix or (a[0] <= b[1] and b[0] <= a[1])


def _span(timeline: Timeline) -> tuple[int, int]:
    raw, rows = timeline.raw, timeline.raw.sound
    if not len(rows):
        return 0, 0
    return int(raw.start[rows].min()), int((raw.start[rows] + raw.length[rows]).max())


def _paired(by: str, name: str, a: Array, b: Array) -> Shift:
    """The k-th occurrence in one belongs to the k-th in the other: the median of their distances, and its spread."""
    pairs = min(len(a), len(b))
    distances = a[:pairs] - b[:pairs]
    middle = int(np.sort(distances)[pairs // 2])
    lasted = int(b[pairs - 1] - b[0])
    drift = float(distances[-1] - distances[0]) / lasted * 1e6 if pairs > 1 and lasted else None
    return Shift(middle, by, name, pairs, int(np.abs(distances - middle).max()), drift)
