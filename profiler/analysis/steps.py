"""Steps and the judged window (view V2): marked steps, else model executions, else the repeated launch sequence, else none."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from npu import events
from profiler.analysis.calls import COPY, EXECUTE, SYNC, column, loads
from profiler.analysis.launches import Launches
from profiler.trace import Array, Trace

STEADY_MIN = 3  # steps; fewer give no averages (spec of the analyzer, section 1)
MAD_FACTOR = 5  # a leading step longer than median + 5 MAD of the later half is warm-up (view V2)
LONGER = 0.1  # of the median; a step that is closer is no warm-up, however alike the later ones are
NAMES_TRIED = 20  # rarest launch names tried as the head of a repeated sequence


class Steps(NamedTuple):
    """kind: marker | execution | sequence | none. Times ns; first: index of the first steady step; ids as the source counts."""

    kind: str
    starts: Array
    ends: Array
    ids: Array
    first: int = 0

    @property
    def steady(self) -> int:
        """Number of steady steps; 0 when there are fewer than STEADY_MIN."""
        count = len(self.starts) - self.first
        return count if count >= STEADY_MIN else 0

    @property
    def judged(self) -> int:
        """Number of steps in the judged window: the steady ones; where they are too few, all marked ones but warm-up; else 0."""
        if self.steady or self.kind != "marker":
            return self.steady
        return len(self.starts) - self.first or len(self.starts)

    def of(self, times: Array) -> Array:
        """Index of the step that holds each time, -1 outside all."""
        if not len(self.starts):
            return np.full(len(times), -1, np.int64)
        if (times[1:] >= times[:-1]).all():  # each step is one stretch of them, and what follows it belongs to none
            begins = np.searchsorted(times, self.starts)
            behind = np.append(begins[1:], len(times))
            ends = np.clip(np.searchsorted(times, self.ends), begins, behind)
            numbers = np.stack((np.arange(len(begins)), np.full(len(begins), -1)), axis=1).ravel()
            counts = np.stack((ends - begins, behind - ends), axis=1).ravel()
            return np.repeat(np.append(-1, numbers), np.append(begins[0], counts))
        at = np.searchsorted(self.starts, times, side="right") - 1
        return np.where((at >= 0) & (times < self.ends[np.maximum(at, 0)]), at, -1)


def find(trace: Trace, launches: Launches) -> Steps:
    """The steps of a trace with their warm-up counted off."""
    for search in (_marked, _executions, _sequence):
        found = search(trace, launches)
        if found is not None:
            return found._replace(first=_warm_up(trace, launches, found))
    none = np.zeros(0, np.int64)
    return Steps("none", none, none, none)


def window(trace: Trace, steps: Steps) -> tuple[int, int]:
    """The judged time range: the steady steps; all marked steps when too few of them are steady; else the span of device work."""
    if steps.judged:
        return int(steps.starts[-steps.judged]), int(steps.ends[-1])
    tables = [t for t in (trace.task, trace.comm) if t]
    if not tables:
        return trace.span()
    return min(int(t["start"].min()) for t in tables), max(int(t["end"].max()) for t in tables)


def _marked(trace: Trace, launches: Launches) -> Steps | None:
    if not trace.marker:
        return None
    rows = np.flatnonzero(trace.marker["kind"] == events.MARKERS.index("step"))
    if not len(rows):
        return None
    rows = rows[np.argsort(trace.marker["start"][rows], kind="stable")]
    numbers = [re.search(r"\d+", trace.strings[int(n)]) for n in trace.marker["name"][rows]]
    ids = np.array([i if m is None else int(m[0]) for i, m in enumerate(numbers)], np.int64)
    starts = trace.marker["start"][rows]
    once = np.ones(len(rows), bool)  # some files hold a step twice, as a range of the host and as one of the device
    once[1:] = (ids[1:] != ids[:-1]) | (starts[1:] >= trace.marker["end"][rows][:-1])
    rows, ids = rows[once], ids[once]
    return Steps("marker", trace.marker["start"][rows], trace.marker["end"][rows], ids)


def _executions(trace: Trace, launches: Launches) -> Steps | None:
    """Executions of the model that runs most often, on the thread that runs it most.

    A step begins with the first host-to-device copy after the previous execution and what waited for it or read its results;
    without such a copy, with the execution itself. The last one ends with its own tasks and the wait for them.
    """
    runs = np.flatnonzero(trace.api_named(*EXECUTE))
    if len(runs) < 2:
        return None
    first = launches.first[runs]
    model = (
        np.where(first >= 0, column(trace, "task", "model")[np.maximum(first, 0)], -1) if trace.task else np.full(len(runs), -1)
    )
    runs = _most(runs, model)
    runs = _most(runs, trace.api["thread"][runs])
    runs = runs[np.argsort(trace.api["start"][runs], kind="stable")]
    if len(runs) < 2:
        return None
    mine = np.flatnonzero(trace.api["thread"] == trace.api["thread"][runs[0]])
    mine = mine[np.argsort(trace.api["start"][mine], kind="stable")]
    direction = column(trace, "api", "direction")[mine]
    copies = trace.api_named(*COPY)[mine]
    waits = trace.api_named(*SYNC)[mine]
    closers = np.flatnonzero(waits | np.isin(mine, runs) | (copies & (direction == events.DIRECTIONS.index("d2h"))))
    openers = np.flatnonzero(copies & (direction == events.DIRECTIONS.index("h2d")))
    at = np.flatnonzero(np.isin(mine, runs))
    before = np.searchsorted(closers, at) - 1
    after = np.searchsorted(openers, np.where(before >= 0, closers[np.maximum(before, 0)], -1))
    opened = np.where(after < len(openers), openers[np.minimum(after, len(openers) - 1)], len(mine)) if len(openers) else at
    starts = trace.api["start"][mine[np.minimum(opened, at)]]
    return Steps(
        "execution", starts, np.append(starts[1:], _last_end(trace, launches, mine, int(at[-1]), waits)), np.arange(len(starts))
    )


def _last_end(trace: Trace, launches: Launches, mine: Array, at: int, waits: Array) -> int:
    """End of the last execution: of its call, its tasks, and the wait that follows the call directly."""
    row = mine[at]
    ends = [int(trace.api["end"][row])]
    if launches.last[row] >= 0:
        ends.append(int(trace.task["end"][launches.last[row]]))
    if at + 1 < len(mine) and waits[at + 1]:
        ends.append(int(trace.api["end"][mine[at + 1]]))
    return max(ends)


def _most(rows: Array, values: Array) -> Array:
    """The rows whose value is the most frequent one; of equals, the one seen first."""
    found, first, counts = np.unique(values, return_index=True, return_counts=True)
    best = np.lexsort((first, -counts))[0]
    chosen: Array = rows[values == found[best]]
    return chosen


def _sequence(trace: Trace, launches: Launches) -> Steps | None:
    """The longest launch-name sequence that repeats at least STEADY_MIN times, found by its rarest name."""
    rows = np.flatnonzero(launches.kernels > 0)
    if len(rows) < 2 * STEADY_MIN or "name" not in trace.task:
        return None
    rows = _most(rows, trace.api["thread"][rows])
    rows = rows[np.argsort(trace.api["start"][rows], kind="stable")]
    names = trace.task["name"][launches.first[rows]]
    found, counts = np.unique(names, return_counts=True)
    repeated = found[counts >= STEADY_MIN]
    for name in repeated[np.argsort(counts[counts >= STEADY_MIN], kind="stable")][:NAMES_TRIED]:
        heads = np.flatnonzero(names == name)
        period = int(heads[-1] - heads[-2])
        whole = heads[heads + period <= len(names)]
        if period < 2 or len(whole) < STEADY_MIN:
            continue
        blocks = names[whole[:, None] + np.arange(period)]
        same = (blocks == blocks[-1]).all(axis=1) & (np.diff(whole, append=whole[-1] + period) == period)
        odd = np.flatnonzero(~same)
        whole = whole[odd[-1] + 1 if len(odd) else 0 :]
        if len(whole) < STEADY_MIN:
            continue
        starts = trace.api["start"][rows[whole]]
        final = rows[whole[-1] + period - 1]
        end = max(int(trace.api["end"][final]), int(trace.task["end"][launches.last[final]]))
        return Steps("sequence", starts, np.append(starts[1:], end), np.arange(len(starts)))
    return None


def _warm_up(trace: Trace, launches: Launches, steps: Steps) -> int:
    """How many leading steps are warm-up: they load or compile, last too long, or lack the device rows of later ones."""
    count = len(steps.starts)
    if count < 2:
        return 0
    lengths = (steps.ends - steps.starts)[:-1]  # the last one holds the drain of the device, too
    later = lengths[len(lengths) // 2 :]
    median = np.median(later)
    usual = max(MAD_FACTOR * np.median(np.abs(later - median)), LONGER * median)
    slow = np.append(lengths > median + usual, False)
    if trace.api:
        inside = steps.of(trace.api["start"][loads(trace)])
        slow[inside[inside >= 0]] = True
    if trace.task:
        inside = steps.of(launches.time)
        rows = np.bincount(inside[inside >= 0], minlength=count)
        slow |= (rows == 0) & (np.median(rows) > 0)
    fast = np.flatnonzero(~slow)
    return int(fast[0]) if len(fast) else count
