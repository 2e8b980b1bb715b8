"""The edges between chains, one function a kind: launch, event, wait of a call for the device, engine."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from npu import soc
from npu.cost import call_ns
from profiler.analysis.calls import SYNC_DEVICE, SYNC_EVENT, SYNC_STREAM, blocking, column
from profiler.analysis.chains import Chains
from profiler.analysis.groups import changes, in_order, numbered, sort_by
from profiler.analysis.launches import Launches
from profiler.trace import Array, Trace

BRIEF_WAIT = 1_000  # ns; an inferred event wait shorter than this constrains nothing (spec of the analyzer, section 4)
NONE = np.zeros(0, np.int64)


class Edges(NamedTuple):
    source: Array
    target: Array
    weight: Array
    owner: Array
    kind: Array

    @classmethod
    def joined(cls, *groups: tuple[int, tuple[Array, Array, Array, Array]]) -> Edges:
        """Groups of (kind, (sources, targets, weights, owners)) as one table."""
        kind = np.concatenate([np.full(len(g[0]), k, np.int8) for k, g in groups])
        source, target, owner = (np.concatenate([g[i] for _, g in groups]).astype(np.int32, copy=False) for i in (0, 1, 3))
        weight = np.concatenate([g[2] for _, g in groups]).astype(np.int64, copy=False)
        return cls(source, target, weight, owner, kind)

    def take(self, index: Array) -> Edges:
        return Edges(*(c[index] for c in self))

    def only(self, mask: Array) -> Edges:
        """The edges of a mask; themselves where it holds all."""
        return self if mask.all() else self.take(mask)


Group = tuple[Array, Array, Array, Array]


def launched(trace: Trace, launches: Launches, chains: Chains) -> Group:
    """Start of a call -> the first task it put on each stream; the weight is the shortest lead of calls of that name, and
    for a call that does not wait at most its own length: what is longer was queueing."""
    tasks = np.flatnonzero(launches.row >= 0)
    ops, calls = _bare_collectives(trace, chains)
    if not len(tasks) and not len(ops):
        return NONE, NONE, NONE, NONE
    row = launches.row[tasks]
    if len(tasks):
        stream, start = np.take(trace.task["stream"], tasks), np.take(trace.task["start"], tasks)
        if not in_order(row, stream, start):
            order = np.lexsort((start, stream, row))
            tasks, row, stream = tasks[order], row[order], stream[order]
        heads = changes(row, stream)
        if not heads.all():
            tasks, row = tasks[heads], row[heads]
    nodes = np.concatenate((np.take(chains.task, tasks), chains.collective[ops])) if len(ops) else np.take(chains.task, tasks)
    row = np.concatenate((row, calls)) if len(ops) else row
    begun = np.take(trace.api["start"], row)
    lead = chains.start_of(nodes)
    lead -= begun
    np.maximum(lead, 0, out=lead)
    group, count = numbered(np.take(trace.api["name"], row))
    shortest = np.full(count, np.iinfo(np.int64).max)
    np.minimum.at(shortest, group, lead)
    weight = np.take(shortest, group)
    length = np.take(trace.api["end"], row) - begun
    np.minimum(weight, length, out=weight, where=np.take(column(trace, "api", "blocking"), row) == 0)
    return np.take(chains.call_start, np.take(chains.outer, row)), nodes, weight, row


def _bare_collectives(trace: Trace, chains: Chains) -> tuple[Array, Array]:
    """(comm rows, api rows) of collectives without tasks of their own, and the calls with their correlation."""
    known, ids = trace.comm.get("correlation"), column(trace, "api", "correlation")
    if known is None or not len(ids):
        return NONE, NONE
    ops = _without_tasks(chains)
    ops = ops[known[ops] >= 0]
    order = np.argsort(ids, kind="stable")
    at = np.minimum(np.searchsorted(ids[order], known[ops]), len(order) - 1)
    hit = ids[order[at]] == known[ops]
    return ops[hit], order[at[hit]]


def _without_tasks(chains: Chains) -> Array:
    """Comm rows of collectives that are made of no tasks of the trace."""
    ops = np.flatnonzero(chains.collective >= 0)
    return ops[~np.isin(chains.collective[ops], np.unique(chains.task[chains.member]))]


def recorded(trace: Trace, launches: Launches, chains: Chains, slop: int) -> Group:
    """Event record -> event wait. By event id and launch order where recorded; else the record of another stream that ends
    nearest before the wait's end."""
    records, waits = np.flatnonzero(trace.tasks_of("record")), np.flatnonzero(trace.tasks_of("wait"))
    if not len(records) or not len(waits):
        return NONE, NONE, NONE, NONE
    event, end = column(trace, "task", "event"), trace.task["end"]
    queued = np.where(launches.row >= 0, launches.time, end)  # without calls: what ended later was queued later
    known = waits[event[waits] >= 0]
    by_id = _last_before(event[records], queued[records], event[known], queued[known])
    pairs = [(records[by_id[by_id >= 0]], known[by_id >= 0])]
    open_ = waits[(event[waits] < 0) & (end[waits] - trace.task["start"][waits] >= BRIEF_WAIT)]
    if len(open_):
        records = records[np.argsort(end[records], kind="stable")]
        at = np.searchsorted(end[records], end[open_] + slop, side="right") - 1
        for _ in range(2):  # one step back past a record of the wait's own stream
            own = (at >= 0) & (trace.task["stream"][records[np.maximum(at, 0)]] == trace.task["stream"][open_])
            at = np.where(own, at - 1, at)
        source = records[np.maximum(at, 0)]
        before = (queued[source] <= queued[open_]) | (launches.row[source] < 0) | (launches.row[open_] < 0)
        good = (at >= 0) & (trace.task["stream"][source] != trace.task["stream"][open_]) & before
        pairs.append((source[good], open_[good]))
    source, target = (np.concatenate([p[i] for p in pairs]) for i in (0, 1))
    return chains.task[source], chains.task[target], np.zeros(len(source), np.int64), np.full(len(source), -1)


def _last_before(keys: Array, times: Array, wanted: Array, at: Array) -> Array:
    """For each (wanted key, time): index of the latest entry with that key and a time not after it, -1 without one."""
    order = np.lexsort((times, keys))
    keys, times = keys[order].astype(np.int64), times[order]
    scale = int(max(times.max(initial=0), at.max(initial=0))) + 2
    found = np.searchsorted(keys * scale + times, wanted.astype(np.int64) * scale + at, side="right") - 1
    hit = (found >= 0) & (keys[np.maximum(found, 0)] == wanted)
    return np.where(hit, order[np.maximum(found, 0)], -1)


def waited(trace: Trace, launches: Launches, chains: Chains, slop: int) -> Group:
    """Task -> return of the call that waited for it: the last own task of a blocking call; the last task launched on the
    stream (on every stream of the device) before a synchronise, and the last collective there that has no tasks of its own; the
    last record before a wait for an event."""
    if not trace.api or not (trace.task or trace.comm):
        return NONE, NONE, NONE, NONE
    rows = np.flatnonzero(blocking(trace) & ~chains.hidden)
    exchanged, held = _collective_waits(trace, chains, rows, slop)
    if not trace.task:
        return exchanged, chains.call_end[held], np.zeros(len(held), np.int64), held
    own = launches.last[rows]
    groups = [(own[own >= 0], rows[own >= 0])]
    rest = rows[own < 0]
    for_event = trace.api_named(*SYNC_EVENT)[rest]
    event, records = column(trace, "api", "event")[rest[for_event]], np.flatnonzero(trace.tasks_of("record"))
    found = (
        _last_before(column(trace, "task", "event")[records], launches.time[records], event, trace.api["start"][rest[for_event]])
        if len(records)
        else np.full(len(event), -1)
    )
    groups.append((records[found[found >= 0]] if len(records) else NONE, rest[for_event][found >= 0]))
    groups.extend(_stream_waits(trace, launches, rest[~for_event], slop))
    source, owner = (np.concatenate([g[i] for g in groups]) for i in (0, 1))
    nodes, owner = np.concatenate((chains.task[source], exchanged)), np.concatenate((owner, held))
    return nodes, chains.call_end[owner], np.zeros(len(nodes), np.int64), owner


def _collective_waits(trace: Trace, chains: Chains, rows: Array, slop: int) -> tuple[Array, Array]:
    """(nodes, rows): the last collective without tasks that was launched on the stream before a synchronise. Where its stream is
    not known, the call must wait for all streams, or return just when the collective ends."""
    rows = rows[trace.api_named(*SYNC_STREAM, *SYNC_DEVICE)[rows]]
    ops = _without_tasks(chains)
    if not len(rows) or not len(ops):
        return NONE, NONE
    launched_at = trace.comm["start"].astype(np.int64, copy=True)
    linked, calls = _bare_collectives(trace, chains)
    launched_at[linked] = trace.api["start"][calls]
    known = trace.comm.get("stream")
    streams = np.full(len(ops), -1, np.int64) if known is None else known[ops].astype(np.int64)
    stream, device = column(trace, "api", "stream")[rows], column(trace, "api", "device")[rows]
    everything = (stream < 0) | trace.api_named(*SYNC_DEVICE)[rows]
    order = np.lexsort((launched_at[ops], streams, trace.comm["device"][ops]))
    ops, streams = ops[order], streams[order]
    devices = trace.comm["device"][ops]
    groups = []
    for mine in np.split(np.arange(len(ops)), np.flatnonzero(changes(devices, streams))[1:]):
        own, number, there = ops[mine], int(streams[mine[0]]), int(devices[mine[0]])
        calls = np.flatnonzero((everything | (stream == number) | (number < 0)) & ((device < 0) | (device == there)))
        at = np.searchsorted(launched_at[own], trace.api["start"][rows[calls]], side="left") - 1
        left = trace.api["end"][rows[calls]] - trace.comm["end"][own[np.maximum(at, 0)]]
        fits = (at >= 0) & (left >= -slop) & (everything[calls] | (number >= 0) | (left < slop))
        groups.append((chains.collective[own[at[fits]]], rows[calls[fits]]))
    return np.concatenate([g[0] for g in groups]), np.concatenate([g[1] for g in groups])


def _stream_waits(trace: Trace, launches: Launches, rows: Array, slop: int) -> list[tuple[Array, Array]]:
    """(tasks, rows) for calls that wait for one stream, or for all streams where none is known."""
    groups = []
    stream, device = column(trace, "api", "stream")[rows], column(trace, "api", "device")[rows]
    everything = (stream < 0) | trace.api_named("aclrtSynchronizeDevice", "aclrtSynchronizeDeviceWithTimeout")[rows]
    order = sort_by(trace.task["device"], trace.task["stream"], trace.task["start"])
    heads = np.flatnonzero(changes(np.take(trace.task["device"], order), np.take(trace.task["stream"], order)))
    for tasks in np.split(order, heads[1:]):
        key = trace.task["device"][tasks[0]], trace.task["stream"][tasks[0]]
        mine = rows[(everything | (stream == key[1])) & ((device < 0) | (device == key[0]))]
        launched_at = np.maximum.accumulate(launches.time[tasks])
        at = np.searchsorted(launched_at, trace.api["start"][mine], side="left") - 1
        fits = (at >= 0) & (trace.task["end"][tasks[np.maximum(at, 0)]] <= trace.api["end"][mine] + slop)
        groups.append((tasks[at[fits]], mine[fits]))
    return groups


def own_cost(trace: Trace, rows: Array) -> Array:
    """What a waiting call costs without waiting, ns: the shortest of its name, at most the modelled cost of that call."""
    names, group = np.unique(trace.api["name"][rows], return_inverse=True)
    cost = np.full(len(names), np.iinfo(np.int64).max)
    np.minimum.at(cost, group, (trace.api["end"] - trace.api["start"])[rows])
    for i, name in enumerate(names):
        cost[i] = min(int(cost[i]), call_ns(trace.strings[int(name)]))
    return cost[group]


def engine(trace: Trace, chains: Chains) -> Group:
    """Tasks of different streams that need the same engine and ran one after the other keep their order: copies of one
    direction, and kernels whose cores together exceed the chip's."""
    if not trace.task or (trace.task["stream"] == trace.task["stream"][0]).all():
        return NONE, NONE, NONE, NONE
    groups = []
    copies = np.flatnonzero(trace.tasks_of("copy", "memset") & ~chains.member)
    groups.append(_neighbours(trace, copies, column(trace, "task", "direction")[copies]))
    kernels = np.flatnonzero(trace.tasks_of("kernel") & ~chains.member)
    before, after = _neighbours(trace, kernels, _core_kind(trace)[kernels])
    blocks = column(trace, "task", "block_dim")
    groups.append(tuple(side[blocks[before] + blocks[after] > _cores(trace)[before]] for side in (before, after)))  # type: ignore[arg-type]
    source, target = (np.concatenate([g[i] for g in groups]) for i in (0, 1))
    return chains.task[source], chains.task[target], np.zeros(len(source), np.int64), np.full(len(source), -1)


def _neighbours(trace: Trace, rows: Array, engines: Array) -> tuple[Array, Array]:
    """Pairs of consecutive rows by start on one (device, engine) that lie on different streams and do not overlap."""
    device, stream, start = (trace.task[n][rows] for n in ("device", "stream", "start"))
    order = np.lexsort((trace.task["end"][rows], start, engines, device))
    a, b = order[:-1], order[1:]
    good = (
        (device[a] == device[b])
        & (engines[a] == engines[b])
        & (stream[a] != stream[b])
        & (trace.task["end"][rows[a]] <= start[b])
    )
    return rows[a[good]], rows[b[good]]


def _core_kind(trace: Trace) -> Array:
    """1 for kernels that run on vector cores, 0 for all others (cube or mixed)."""
    vector = trace.strings.matching(lambda text: text in ("AI_VECTOR_CORE", "MIX_AIV"))
    return np.isin(column(trace, "task", "task_type"), vector).astype(np.int64)


def _cores(trace: Trace) -> Array:
    name = trace.meta.get("soc", soc.DEFAULT)
    try:
        chip = soc.find(str(name))
    except KeyError:
        chip = soc.find(soc.DEFAULT)
    return np.where(_core_kind(trace) == 1, chip.vector_cores, chip.aic)
