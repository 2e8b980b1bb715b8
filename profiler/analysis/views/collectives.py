"""Inside collectives (view V4): transfer, waiting and the rest of each, and which rank came last. Times ns.

1. A part belongs to the operation with its number, else to the one of its device and group that runs when it starts.
2. Every operation gets a place of its own on one common axis, so that one sweep serves all of them.
3. Transfer = union of the transfers between ranks, waiting = union of the waits without it, other = the rest.
4. A peer's lag is the end of the first wait for it minus the own start; 0 when that wait was over at once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from npu import events
from profiler import intervals
from profiler.analysis.groups import combined
from profiler.intervals import Spans
from profiler.trace import Array, Columns, Trace

CLOCK_SLOP = 25_000  # ns; first waits that are all shorter than this: the rank itself came last (spec of the analyzer, section 2)
AT_ONCE = 1_000  # ns; a wait this short had nothing to wait for
OP = events.COMM_LEVELS.index("op")
TRANSFERS = tuple(events.COMM_PARTS.index(p) for p in ("transfer", "reduce"))
WAIT = events.COMM_PARTS.index("wait")
NONE = np.zeros(0, np.int64)


class Collectives(NamedTuple):
    """Columns per collective: row of the comm table, known (its parts were recorded), transfer, waiting, other, last (the
    rank that came last, the own one included; -1 unknown), lag of that rank behind the own start, leave (the own start
    plus the largest lag). Columns per (collective, peer): op (index into the former), peer, lag, charged (waiting that
    ended with this peer)."""

    row: Array
    known: Array
    transfer: Array
    waiting: Array
    other: Array
    last: Array
    lag: Array
    arrival: Array
    pair_op: Array
    pair_peer: Array
    pair_lag: Array
    pair_charged: Array


class Exposed(NamedTuple):
    """The time of a device's collectives by what they did, and how much of it no kernel covers, ns."""

    transfer: int
    waiting: int
    other: int
    exposed_transfer: int
    exposed_waiting: int
    exposed_other: int


def collectives(trace: Trace) -> Collectives:
    """One row per collective of the trace, in the order of the comm table."""
    comm = trace.comm
    if not comm:
        return Collectives(*(NONE,) * 12)
    rows = np.flatnonzero(comm["level"] == OP)
    start, end = (comm[n][rows].astype(np.int64) for n in ("start", "end"))
    parts = np.flatnonzero(comm["level"] != OP)
    owner = _owner(comm, rows, parts)
    parts, owner = parts[owner >= 0], owner[owner >= 0]
    length = end - start
    shift = np.cumsum(length) - length + np.arange(len(rows))

    def placed(chosen: Array) -> Spans:
        at = owner[chosen]
        begin, finish = (np.clip(comm[n][parts[chosen]], start[at], end[at]) - start[at] + shift[at] for n in ("start", "end"))
        return intervals.union(begin, finish)

    def per_op(spans: Spans) -> Array:
        sums = np.zeros(len(rows), np.int64)
        np.add.at(sums, np.searchsorted(shift, spans.starts, side="right") - 1, spans.ends - spans.starts)
        return sums

    moving, waits = _transfers(comm, parts), comm["part"][parts] == WAIT
    transfer, waited = placed(moving), placed(waits)
    idle = intervals.subtract(waited, transfer)
    sums = {"transfer": per_op(transfer), "waiting": per_op(idle)}
    known = np.bincount(owner, minlength=len(rows)) > 0
    pairs = _pairs(trace, parts[waits], owner[waits], start)
    charged = _charged(trace, parts[waits], owner[waits], shift - start, waited, idle, pairs)
    last, lag = _last(trace, rows, pairs, known)
    return Collectives(
        rows,
        known,
        sums["transfer"],
        sums["waiting"],
        np.where(known, length - sums["transfer"] - sums["waiting"], 0),
        last,
        lag,
        start + lag,
        pairs.op,
        pairs.peer,
        pairs.lag,
        charged,
    )


class Inside(NamedTuple):
    """What the collectives of a device did, as sets of intervals."""

    transfer: Spans
    waiting: Spans
    other: Spans


def inside(trace: Trace, found: Collectives, device: int) -> Inside | None:
    """Transfer, waiting and the rest of a device's collectives on its timeline. None without recorded parts."""
    comm = trace.comm
    mine = found.row[(comm["device"][found.row] == device) & found.known] if len(found.row) else NONE
    if not len(mine):
        return None
    parts = np.flatnonzero((comm["level"] != OP) & (comm["device"] == device))
    moving, waits = _transfers(comm, parts), comm["part"][parts] == WAIT
    whole = intervals.union(comm["start"][mine], comm["end"][mine])
    transfer = intervals.intersect(whole, intervals.union(comm["start"][parts[moving]], comm["end"][parts[moving]]))
    waited = intervals.intersect(whole, intervals.union(comm["start"][parts[waits]], comm["end"][parts[waits]]))
    waiting = intervals.subtract(waited, transfer)
    return Inside(transfer, waiting, intervals.subtract(intervals.subtract(whole, transfer), waiting))


def exposed(trace: Trace, found: Collectives, device: int, computing: Spans) -> Exposed | None:
    """The split of a device's collective time, whole and uncovered by `computing`. None without recorded parts."""
    pieces = inside(trace, found, device)
    if pieces is None:
        return None
    return Exposed(*(intervals.length(p) for p in pieces), *(intervals.length(intervals.subtract(p, computing)) for p in pieces))


def _owner(comm: Columns, rows: Array, parts: Array) -> Array:
    """Per part the index of its collective, -1 for one outside all of them."""
    owner = np.full(len(parts), -1, np.int64)
    numbers = comm.get("op")
    if numbers is not None and len(rows) and (numbers[rows] >= 0).all() and len(np.unique(numbers[rows])) == len(rows):
        order = np.argsort(numbers[rows], kind="stable")
        at = np.minimum(np.searchsorted(numbers[rows][order], numbers[parts]), len(rows) - 1)
        hit = numbers[rows][order][at] == numbers[parts]
        owner[hit] = order[at[hit]]
        return owner
    group = comm.get("group")
    labelled = group is not None and bool((group[rows] >= 0).all() and (group[parts] >= 0).all())
    keys = combined(comm["device"], group) if labelled and group is not None else comm["device"].astype(np.int64)
    for key in np.unique(keys[rows]):
        mine, inside = np.flatnonzero(keys[rows] == key), np.flatnonzero(keys[parts] == key)
        mine = mine[np.argsort(comm["start"][rows[mine]], kind="stable")]
        at = np.searchsorted(comm["start"][rows[mine]], comm["start"][parts[inside]], side="right") - 1
        held = (at >= 0) & (comm["start"][parts[inside]] <= comm["end"][rows[mine[np.maximum(at, 0)]]])
        owner[inside[held]] = mine[at[held]]
    return owner


def _transfers(comm: Columns, parts: Array) -> Array:
    """Mask: data moves between two ranks."""
    src, dst = comm.get("src"), comm.get("dst")
    moving = np.isin(comm["part"][parts], TRANSFERS)
    if src is None or dst is None:
        return moving
    between: Array = moving & (src[parts] != dst[parts]) & (src[parts] >= 0) & (dst[parts] >= 0)
    return between


class _Pairs(NamedTuple):
    op: Array
    peer: Array
    lag: Array
    first_wait: Array


def _peer(trace: Trace, parts: Array) -> Array:
    """The other rank of each part: its destination, or its source where the destination is the own rank."""
    comm = trace.comm
    own = comm.get("rank")
    src, dst = comm.get("src"), comm.get("dst")
    if src is None or dst is None:
        return np.full(len(parts), -1, np.int64)
    mine = own[parts] if own is not None else np.full(len(parts), _own_rank(trace))
    other: Array = np.where(dst[parts] == mine, src[parts], dst[parts]).astype(np.int64)
    return other


def _own_rank(trace: Trace) -> int:
    rank = trace.meta.get("rank", 0)
    return rank if isinstance(rank, int) else 0


def _pairs(trace: Trace, waits: Array, owner: Array, start: Array) -> _Pairs:
    """(collective, peer) pairs with the end of their first wait."""
    comm, peer = trace.comm, _peer(trace, waits)
    good = peer >= 0
    waits, owner, peer = waits[good], owner[good], peer[good]
    order = np.lexsort((comm["start"][waits], peer, owner))
    waits, owner, peer = waits[order], owner[order], peer[order]
    heads = np.ones(len(waits), bool)
    heads[1:] = (owner[1:] != owner[:-1]) | (peer[1:] != peer[:-1])
    waits, owner, peer = waits[heads], owner[heads], peer[heads]
    length = (comm["end"] - comm["start"])[waits]
    lag = np.where(length < AT_ONCE, 0, comm["end"][waits] - start[owner]) if len(waits) else NONE
    return _Pairs(owner, peer, lag, length)


def _charged(trace: Trace, waits: Array, owner: Array, offset: Array, waited: Spans, idle: Spans, pairs: _Pairs) -> Array:
    """Waiting time per pair: each stretch of waiting belongs to the wait that ends it. offset: of each collective's place."""
    charged = np.zeros(len(pairs.op), np.int64)
    if not len(pairs.op) or not len(idle.starts):
        return charged
    ends = trace.comm["end"][waits] + offset[owner]
    order = np.argsort(ends, kind="stable")
    stretch = np.searchsorted(waited.starts, idle.starts, side="right") - 1
    ending = order[np.minimum(np.searchsorted(ends[order], waited.ends[stretch], side="left"), len(order) - 1)]
    peer = _peer(trace, waits[ending])
    scale = int(max(pairs.peer.max(), peer.max())) + 1
    keys = pairs.op * scale + pairs.peer  # sorted by construction
    found = np.minimum(np.searchsorted(keys, owner[ending] * scale + peer), len(keys) - 1)
    hit = keys[found] == owner[ending] * scale + peer
    np.add.at(charged, found[hit], (idle.ends - idle.starts)[hit])
    return charged


def _last(trace: Trace, rows: Array, pairs: _Pairs, known: Array) -> tuple[Array, Array]:
    """Per collective the rank that came last and its lag."""
    own = trace.comm.get("rank")
    itself = own[rows].astype(np.int64) if own is not None else np.full(len(rows), _own_rank(trace))
    longest = np.zeros(len(rows), np.int64)
    np.maximum.at(longest, pairs.op, pairs.first_wait)
    last, lag = np.where(known, itself, -1), np.zeros(len(rows), np.int64)
    order = np.argsort(pairs.lag, kind="stable")  # of several pairs the one with the largest lag is written last
    order = order[longest[pairs.op[order]] >= CLOCK_SLOP]
    last[pairs.op[order]], lag[pairs.op[order]] = pairs.peer[order], pairs.lag[order]
    return last, lag
