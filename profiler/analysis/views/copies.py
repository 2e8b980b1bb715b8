"""The copies matrix (view V13): direction by memory kind by blocking."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from npu import events
from npu.units import KIB, MIB
from profiler import intervals
from profiler.analysis.breakdown import in_collective
from profiler.analysis.calls import blocking, column
from profiler.analysis.gaps import busy
from profiler.analysis.groups import changes, combined
from profiler.analysis.views.basis import Basis

BORDERS = (4 * KIB, 64 * KIB, MIB, 16 * MIB)  # of the size histogram


@dataclass(frozen=True, slots=True)
class Copies:
    """One cell. direction, host_kind, blocking: "" unknown. sizes: how many copies below 4 KiB, 64 KiB, 1 MiB, 16 MiB and above.
    hidden_share: of the copies' time beside kernels and collectives. host_ns: time their calls held the host."""

    direction: str
    host_kind: str
    blocking: str
    count: int
    bytes: int
    time_ns: int
    gbps: float
    hidden_share: float
    sizes: tuple[int, ...]
    host_ns: int


def copies(basis: Basis) -> tuple[Copies, ...]:
    """Cells with copies in the window, the longest first."""
    trace, launches = basis.trace, basis.launches
    if not trace.task:
        return ()
    time = launches.time
    mask = trace.tasks_of("copy", "memset") & ~in_collective(trace) & (time >= basis.window[0]) & (time < basis.window[1])
    rows = np.flatnonzero(mask)
    if not len(rows):
        return ()
    call = launches.row[rows]

    def known(name: str) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        own = column(trace, "task", name)[rows].astype(np.int64)
        if not trace.api:
            return own
        return np.where((own < 0) & (call >= 0), column(trace, "api", name)[call], own).astype(np.int64)

    direction, host_kind, size = known("direction"), known("host_kind"), np.maximum(known("bytes"), 0)
    waits = np.where(call >= 0, blocking(trace)[call], -1).astype(np.int64) if trace.api else np.full(len(rows), -1)
    number = combined(direction, host_kind, waits)
    order = np.argsort(number, kind="stable")
    covers = {int(d): busy(trace, int(d), copies=False) for d in np.unique(trace.task["device"][rows])}
    made = []
    for group in np.split(order, np.flatnonzero(changes(number[order]))[1:]):
        mine = rows[group]
        start, end, device = (trace.task[n][mine] for n in ("start", "end", "device"))
        length = int((end - start).sum())
        spans = {d: intervals.union(start[device == d], end[device == d]) for d in covers}
        hidden = sum(intervals.length(intervals.intersect(spans[d], covers[d])) for d in covers)
        whole = sum(intervals.length(s) for s in spans.values())
        calls = np.unique(call[group][call[group] >= 0])
        total = int(size[group].sum())
        made.append(
            Copies(
                _name(events.DIRECTIONS, int(direction[group[0]])),
                _name(events.HOST_KINDS, int(host_kind[group[0]])),
                {1: "blocking", 0: "async"}.get(int(waits[group[0]]), ""),
                len(mine),
                total,
                length,
                total / max(1, length),
                hidden / max(1, whole),
                tuple(np.bincount(np.searchsorted(BORDERS, size[group], side="right"), minlength=len(BORDERS) + 1).tolist()),
                int((trace.api["end"] - trace.api["start"])[calls].sum()) if len(calls) else 0,
            )
        )
    return tuple(sorted(made, key=lambda c: -c.time_ns))


def _name(names: tuple[str, ...], code: int) -> str:
    return names[code] if 0 <= code < len(names) else ""
