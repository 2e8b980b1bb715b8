"""What the times of a file say of the clock behind them: another unit than microseconds, a jump, nothing that lasts."""

from __future__ import annotations

import numpy as np

from profiler.read.times import MOST, NONE
from profiler.trace import Array, Missing, Trace

# Unix time now, counted in other units than us: what a time in the middle of the file tells about the unit it is in.
# Those in ns are beyond what readers keep, and cut to it.
UNITS = ((10**9, 4 * 10**9, "s"), (10**12, 4 * 10**12, "ms"), (MOST // 1000, MOST, "ns"))
SECONDS = 10**10  # ns; an uptime of minutes in us looks like today's seconds, a file in seconds spans less
JUMP = 10**9  # ns; a silence may be a clock jump when it is longer than this
JUMP_RATIO = 10  # and than this many times all the rest
WEEK = 7 * 24 * 3600 * 10**9  # ns; a longer slice is a broken record (limit of HolisticTraceAnalysis)


def other_unit(start: Array) -> str:
    """The unit that times (read as us, in ns) seem to be written in; "" for us or when nothing says so."""
    if not len(start):
        return ""
    middle = int(np.median(start)) // 1000
    unit = next((u for least, most, u in UNITS if least <= middle < most), "")
    return "" if unit == "s" and start.max() - start.min() > SECONDS else unit


def jump(start: Array, length: Array) -> tuple[int, int]:
    """(silence over all threads that is far longer than everything else, ns; rows before it); (0, 0) without one."""
    if len(start) < 2:
        return 0, 0
    order = np.argsort(start, kind="stable")
    start = start[order]
    reach = np.maximum.accumulate(start + np.minimum(length[order], WEEK))
    silence = start[1:] - reach[:-1]
    at = int(silence.argmax())
    rest = int(reach[-1] - start[0]) - int(silence[at])
    return (int(silence[at]), at + 1) if silence[at] > max(JUMP, JUMP_RATIO * rest) else (0, 0)


def tell(trace: Trace, events: int) -> None:
    """Add to a trace what its times, or their absence, say of the file. events: how many it held."""
    tables = [t for t in (trace.task, trace.api, trace.comm, trace.marker) if t]
    if not tables:
        if not events:
            trace.missing.append(Missing("everything", "the file holds no events (0)"))
        elif not trace.counter:
            trace.missing.append(Missing("ranges, tasks and calls", f"of {events} events nothing in it lasts"))
        return
    start, end = (np.concatenate([t[n] for t in tables]) for n in ("start", "end"))
    timed = (start > NONE) & (end > NONE) & ((start != 0) | (end != 0))  # 0 and 0: the record came back incomplete
    start, length = start[timed], end[timed] - start[timed]
    sound = (length >= 0) & (length <= WEEK)
    start, length = start[sound], length[sound]
    unit = other_unit(start)
    if unit:
        why = f"times look like today's in {unit}: the format counts in microseconds, so no duration here can be trusted"
        trace.missing.append(Missing("the scale of times", why))
    silence, before = jump(start, length)
    if silence:
        why = f"the clock jumps: {silence / 1e9:,.0f} s of silence behind the first {before} rows; cut them apart (msprof cut)"
        trace.missing.append(Missing("one clock for all rows", why))
