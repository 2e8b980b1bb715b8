"""Which events of a timeline belong to a time range."""

from __future__ import annotations

import numpy as np

from profiler.convert.write import usable
from profiler.read.raw_events import Raw
from profiler.trace import Array


def within(raw: Raw, start: int, end: int) -> Array:
    """Mask of the rows of [start, end), ns from the first usable slice. Slices that reach in from outside are kept whole; an
    arrow is kept when one of its ends lies in the range, and then with both."""
    keep = usable(raw)
    sound = raw.sound
    zero = int(raw.start[sound].min()) if len(sound) else 0
    start, end = start + zero, end + zero
    timed = raw.phase != "M"
    wanted = np.array(~timed)
    wanted |= timed & (raw.start >= start) & (raw.start < end)
    ranges = raw.slices
    wanted[ranges] = (raw.start[ranges] < end) & (raw.start[ranges] + np.maximum(raw.length[ranges], 1) > start)
    for last, begin in raw.begun_at.items():
        wanted[last] = wanted[begin]
    rows = np.array(raw.flow_rows, np.int64)
    touched = {key for key, yes in zip(raw.flow_keys, wanted[rows].tolist(), strict=True) if yes}
    wanted[rows] = [key in touched for key in raw.flow_keys]
    made: Array = keep & wanted
    return made
