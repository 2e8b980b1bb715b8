"""Counters of a trace by name, as files of sums need them."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from profiler.trace import Array, Trace


def named(trace: Trace, pattern: str) -> Iterator[tuple[int, re.Match[str], Array]]:
    """(device, match, values) of every series whose whole name fits, by name and device; nothing without samples."""
    counter = trace.counter
    if not counter:
        return
    for number in np.unique(counter["name"]).tolist():
        match = re.fullmatch(pattern, trace.strings[number])
        if match is None:
            continue
        mine = counter["name"] == number
        for device in np.unique(counter["device"][mine]).tolist():
            yield device, match, counter["value"][mine & (counter["device"] == device)]
