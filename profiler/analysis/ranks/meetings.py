"""Which operations of several ranks are one: collectives by group and name, point-to-point by sender, receiver and order.

1. A collective is the same on two ranks when group and name agree, where the names of a group are its own (msprof numbers them:
   hcom_allReduce__586_0_1); else when it is the k-th of its group, if all ranks of the group ran equally many.
2. The k-th send from a to b is met by the k-th receive of b from a. Both ends tell (a, b) in their parts; in a group of two ranks
   without parts the other rank is the peer.
3. Clocks: the ranks leave a collective together, so clocks differ by the median distance of the ends of what they share.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from npu import events
from profiler.analysis.context import Context
from profiler.trace import Array, Trace

OP = events.COMM_LEVELS.index("op")
TRANSFERS = tuple(events.COMM_PARTS.index(p) for p in ("transfer", "reduce"))
SEND, RECEIVE = "_send_", "_receive_"
PAIR = 2  # ranks of a point-to-point operation


class Meeting(NamedTuple):
    """An operation that several ranks run together: (place of the rank in the job, comm row) of each."""

    members: tuple[tuple[int, int], ...]


def meetings(contexts: Sequence[Context]) -> list[Meeting]:
    """Operations that at least two of the ranks share, in order of the first rank's times."""
    found: dict[Hashable, list[tuple[int, int]]] = {}
    keys = [dict(_keyed(c.trace)) for c in contexts]
    for rank, mine in enumerate(keys):
        for key, row in mine.items():
            found.setdefault(key, []).append((rank, row))
    uneven = _uneven(keys)
    return [
        Meeting(tuple(m))
        for key, m in found.items()
        if len(m) > 1 and key[:2] not in uneven and (key[0] != "pair" or len(m) == PAIR)  # type: ignore[index]
    ]


def _uneven(keys: Sequence[dict[Hashable, int]]) -> set[Hashable]:
    """(kind, group) of numbered operations that ranks of one group ran unequally often: nobody knows which are the same."""
    counts: dict[Hashable, set[int]] = {}
    for mine in keys:
        own: dict[Hashable, int] = {}
        for key in mine:
            if key[0] == "number":  # type: ignore[index]
                own[key[:2]] = own.get(key[:2], 0) + 1  # type: ignore[index]
        for group, count in own.items():
            counts.setdefault(group, set()).add(count)
    return {g for g, found in counts.items() if len(found) > 1}


def _keyed(trace: Trace) -> Iterator[tuple[Hashable, int]]:
    """(what the operation is called on every rank, its comm row)."""
    comm, text = trace.comm, trace.strings
    if not comm or "group" not in comm:
        return
    rows = np.flatnonzero((comm["level"] == OP) & (comm["group"] >= 0))
    rows = rows[np.argsort(comm["start"][rows], kind="stable")]
    names = {int(n): text[int(n)] for n in np.unique(comm["name"][rows])}
    for group in np.unique(comm["group"][rows]).tolist():
        mine = rows[comm["group"][rows] == group].tolist()
        pairs = [r for r in mine if SEND in names[int(comm["name"][r])] or RECEIVE in names[int(comm["name"][r])]]
        rest = [r for r in mine if r not in set(pairs)]
        own = len({int(comm["name"][r]) for r in rest}) == len(rest)
        for number, row in enumerate(rest):
            yield ("name" if own else "number", text[group], names[int(comm["name"][row])] if own else number), row
        counts: dict[Hashable, int] = {}
        for row in pairs:
            between = _between(trace, row, SEND in names[int(comm["name"][row])])
            counts[between] = counts.get(between, 0) + 1
            yield ("pair", text[group], between, counts[between]), row


def _between(trace: Trace, row: int, sends: bool) -> tuple[int, int] | None:
    """(sender, receiver) of a point-to-point operation; None where its parts do not tell."""
    comm = trace.comm
    src, dst = comm.get("src"), comm.get("dst")
    if src is None or dst is None:
        return None
    if src[row] >= 0 and dst[row] >= 0 and src[row] != dst[row]:
        return int(src[row]), int(dst[row])
    inside = (comm["level"] != OP) & (comm["group"] == comm["group"][row]) & (src >= 0) & (dst >= 0) & (src != dst)
    inside &= (comm["start"] >= comm["start"][row]) & (comm["end"] <= comm["end"][row])
    parts = np.flatnonzero(inside)
    if not len(parts):
        return None
    moving = parts[np.isin(comm["part"][parts], TRANSFERS)]
    first = int(moving[0] if len(moving) else parts[0])
    way = int(src[first]), int(dst[first])
    return way if len(moving) or not sends else way[::-1]  # a sender waits for what comes from its receiver


def offsets(contexts: Sequence[Context], shared: Sequence[Meeting]) -> Array:
    """What to add to each rank's times so that all have the first rank's clock, ns; 0 for one that shares nothing."""
    found: list[int | None] = [0] + [None] * (len(contexts) - 1)
    while True:
        distances: dict[int, list[int]] = {}
        for meeting in shared:
            ends = {rank: int(contexts[rank].trace.comm["end"][row]) for rank, row in meeting.members}
            known = [r for r in ends if found[r] is not None]
            for rank in ends:
                if known and found[rank] is None:
                    distances.setdefault(rank, []).append(ends[known[0]] + (found[known[0]] or 0) - ends[rank])
        if not distances:
            return np.array([f or 0 for f in found], np.int64)
        for rank, apart in distances.items():
            found[rank] = int(np.median(apart))
