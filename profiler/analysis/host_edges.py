"""Edges that end on host threads besides waits: work handed over through a queue, and launches that found a full queue.

Both also say how long the host would take without waiting, which the link along its thread must not exceed: (nodes, ns).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from npu import events
from profiler.analysis.chains import Chains
from profiler.analysis.groups import changes, in_order
from profiler.analysis.launches import Launches
from profiler.trace import Array, Trace

NONE = np.zeros(0, np.int64)
FREE = 1 << 62  # ns; no bound on what the host takes itself
REPEAT_MIN = 3  # launches that found the queue full before that counts as its limit
CAPACITY_MIN = 32  # tasks; a shorter plateau is a program that waits, not a full queue
BLOCKED = 3  # times the median length of launches that found room: then it waited for a place


class HostEdges(NamedTuple):
    """Edges (source, target, weight, owner) and the most a target's link may be, ns."""

    source: Array
    target: Array
    weight: Array
    owner: Array
    link: Array


NOTHING = HostEdges(NONE, NONE, NONE, NONE, NONE)


def handed_over(trace: Trace, chains: Chains) -> HostEdges:
    """What a thread did before it put work into a queue -> what another did after it took it out (markers enqueue, dequeue of
    one correlation). The thread that takes has waited until its dequeue began."""
    marker = trace.marker
    if not marker or not trace.api or "correlation" not in marker:
        return NOTHING
    puts, gets = (np.flatnonzero(marker["kind"] == events.MARKERS.index(k)) for k in ("enqueue", "dequeue"))
    puts = puts[np.argsort(marker["correlation"][puts], kind="stable")]
    if not len(puts) or not len(gets):
        return NOTHING
    ids = marker["correlation"][puts]
    at = np.minimum(np.searchsorted(ids, marker["correlation"][gets]), len(ids) - 1)
    known = (ids[at] == marker["correlation"][gets]) & (marker["correlation"][gets] >= 0)
    puts, gets = puts[at[known]], gets[known]
    return _between(trace, chains, puts, gets, np.ones(len(gets), bool))


def backwards(trace: Trace, chains: Chains) -> HostEdges:
    """What a thread did in a forward operator -> what the backward thread did from its operator of the same number on (torch's
    Sequence number and Fwd thread id, which its fwdbwd arrows are drawn from). The backward thread has waited for it if the
    forward operator ended after the one before on the backward thread began."""
    marker = trace.marker
    if not marker or not trace.api or not {"sequence", "forward_thread"} <= set(marker):
        return NOTHING
    number, home = marker["sequence"].astype(np.int64), marker["forward_thread"].astype(np.int64)
    operator = marker["kind"] == events.MARKERS.index("cpu_op")
    back = np.flatnonzero(operator & (number >= 0) & (home > 0))
    ahead = np.flatnonzero(operator & (number >= 0) & (home <= 0))
    if not len(back) or not len(ahead):
        return NOTHING
    back = back[np.lexsort((marker["start"][back], number[back]))]
    back = back[changes(number[back])]  # the first of a number is what the forward operator made
    ahead = ahead[np.lexsort((marker["end"][ahead], number[ahead]))]
    at = np.searchsorted(number[ahead], number[back], side="right") - 1
    known = (at >= 0) & (number[ahead[np.maximum(at, 0)]] == number[back])
    back, ahead = back[known], ahead[at[known]]
    known = (marker["end"][ahead] <= marker["start"][back]) & (marker["thread"][ahead] != marker["thread"][back])
    back, ahead = back[known], ahead[known]
    order = np.lexsort((marker["start"][back], marker["thread"][back]))
    back, ahead = back[order], ahead[order]
    waited = changes(marker["thread"][back])
    waited[1:] |= marker["end"][ahead][1:] >= marker["start"][back][:-1]
    return _between(trace, chains, ahead, back, waited)


def _between(trace: Trace, chains: Chains, puts: Array, gets: Array, waited: Array) -> HostEdges:
    """Edges from the last moment of the giving thread before each put ended to the first of the taking thread after its get
    began. The weight is the own time of both; where the taker waited, it takes only its own part itself."""
    if not len(puts):
        return NOTHING
    marker, api = trace.marker, trace.api
    nodes = np.arange(chains.first_task)
    thread, time = api["thread"][chains.row[nodes]].astype(np.int64), chains.time[nodes]
    low = min(int(time.min()), int(marker["start"].min()))
    scale = max(int(time.max()), int(marker["end"].max())) - low + 2
    keys = thread * scale + time - low
    giver, taker = marker["thread"][puts].astype(np.int64), marker["thread"][gets].astype(np.int64)
    before = np.searchsorted(keys, giver * scale + marker["end"][puts] - low, side="right") - 1
    after = np.searchsorted(keys, taker * scale + marker["start"][gets] - low, side="left")
    first, last = np.maximum(before, 0), np.minimum(after, len(nodes) - 1)
    good = (before >= 0) & (after < len(nodes)) & (thread[first] == giver) & (thread[last] == taker) & (giver != taker)
    puts, gets, source, target = puts[good], gets[good], nodes[first[good]], nodes[last[good]]
    prepared = marker["end"][puts] - chains.time[source]
    taken = chains.time[target] - marker["start"][gets]
    own = np.where(waited[good], taken, FREE)
    return HostEdges(source, target, prepared + taken, np.full(len(source), -1), own)


def queue_full(trace: Trace, launches: Launches, chains: Chains) -> HostEdges:
    """Task that frees a place of a stream's queue -> return of the launch that waited for one.

    The queue's capacity is the largest number of launched tasks that have not started, if at least REPEAT_MIN launches that
    took over BLOCKED times as long as those that found room returned just then.
    """
    task = trace.task
    rows = np.flatnonzero(launches.row >= 0)
    if not len(rows):
        return NOTHING
    device, stream, start = (np.take(task[n], rows) for n in ("device", "stream", "start"))
    if not in_order(device, stream, start):
        order = np.lexsort((start, stream, device))
        rows, device, stream, start = rows[order], device[order], stream[order], start[order]
    found = []
    heads = np.flatnonzero(changes(device, stream))
    for begin, end in zip(heads.tolist(), np.append(heads, len(rows))[1:].tolist(), strict=True):
        found.append(_full(trace, launches, chains, rows[begin:end], start[begin:end]))
    return HostEdges(*(np.concatenate(c) for c in zip(*found, strict=True)))


def _full(trace: Trace, launches: Launches, chains: Chains, rows: Array, start: Array) -> HostEdges:
    """The edges of one stream, its tasks in order. start: of these."""
    call = np.take(launches.row, rows)
    returned = np.take(trace.api["end"], call)
    ahead = CAPACITY_MIN - 1  # tasks launched before this one; with the capacity at its least all of them wait when it returns
    if len(rows) <= ahead or not (start[:-ahead] > returned[ahead:]).any():
        return NOTHING
    length = returned - np.take(trace.api["start"], call)
    queued = np.arange(len(rows)) + 1 - np.searchsorted(start, returned, side="right")
    capacity = int(queued.max())
    room = length[queued < capacity - 1]
    if capacity < CAPACITY_MIN or not len(room):
        return NOTHING
    usual = int(np.median(room))
    blocked = np.flatnonzero((queued >= capacity - 1) & (length > BLOCKED * usual) & ~chains.hidden[call])
    blocked = blocked[blocked > capacity]
    if len(blocked) < REPEAT_MIN:
        return NOTHING
    freed = blocked - capacity  # when this one starts, a place is free: that is when the one before it has ended
    source = chains.task[rows[freed - 1]]
    gap = np.maximum(trace.task["start"][rows[freed]] - trace.task["end"][rows[freed - 1]], 0)
    return HostEdges(source, chains.call_end[call[blocked]], gap, call[blocked], np.full(len(blocked), usual))
