"""Samples of the window (view V17): time at each clock, and every other counter's range."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from profiler.analysis.views.basis import Basis
from profiler.analysis.views.roofline import CLOCK
from profiler.samples.sampler import series
from profiler.trace import Array

PARTS = 100  # of the window, for which derived samples are taken


class ClockTime(NamedTuple):
    """How long a device ran at a clock."""

    device: int
    mhz: float
    time_ns: int
    share: float


class Counter(NamedTuple):
    """One counter of a device over the window, in the unit of its file."""

    device: int
    name: str
    samples: int
    least: float
    mean: float
    most: float


def clocks(basis: Basis) -> tuple[ClockTime, ...]:
    """Each sample holds until the next one; before the first sample the clock is unknown and not counted."""
    table = basis.trace.counter
    if not table:
        return ()
    mask = np.isin(table["name"], basis.trace.strings.matching(lambda text: text.startswith(CLOCK)))
    made = []
    for device in np.unique(table["device"][mask]).tolist():
        rows = np.flatnonzero(mask & (table["device"] == device))
        rows = rows[np.argsort(table["time"][rows], kind="stable")]
        edges = np.clip(np.append(table["time"][rows], basis.window[1]), *basis.window)
        length = np.diff(edges)
        whole = max(1, int(length.sum()))
        for value in np.unique(table["value"][rows]).tolist():
            time = int(length[table["value"][rows] == value].sum())
            if time:
                made.append(ClockTime(int(device), float(value), time, time / whole))
    return tuple(made)


def counters(basis: Basis) -> tuple[Counter, ...]:
    """Counters other than the clock, by name and device; of a capture of ours also those that follow from what it holds."""
    recorded = _recorded(basis)
    known = {(c.device, c.name) for c in recorded}
    made = recorded + [c for c in _derived(basis) if (c.device, c.name) not in known]
    return tuple(sorted(made, key=lambda c: (c.name, c.device)))


def _recorded(basis: Basis) -> list[Counter]:
    """Samples that lie in the window."""
    table, text = basis.trace.counter, basis.trace.strings
    if not table:
        return []
    inside = (table["time"] >= basis.window[0]) & (table["time"] < basis.window[1])
    made = []
    for name in np.unique(table["name"][inside]).tolist():
        if text[name].startswith(CLOCK):
            continue
        for device in np.unique(table["device"][inside & (table["name"] == name)]).tolist():
            values = table["value"][inside & (table["name"] == name) & (table["device"] == device)]
            values = values[~np.isnan(values)]
            if len(values):
                made.append(_counter(int(device), text[name], values))
    return made


def _derived(basis: Basis) -> list[Counter]:
    """Memory, links and load of a capture of ours, over PARTS equal parts of the window."""
    begin, end = basis.window
    if end - begin < PARTS:
        return []
    times = np.linspace(begin, end, PARTS + 1).astype(np.int64)
    return [_counter(one.device, one.name, one.values) for one in series(basis.trace, times) if one.values.any()]


def _counter(device: int, name: str, values: Array) -> Counter:
    return Counter(device, name, len(values), float(values.min()), float(values.mean()), float(values.max()))
