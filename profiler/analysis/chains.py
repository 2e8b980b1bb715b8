"""The nodes of the graph in the order of their chains: the two moments of each call along its thread, the ends of tasks along
their stream."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from npu import events
from profiler.analysis.breakdown import collective_of
from profiler.analysis.groups import changes
from profiler.trace import Array, Trace


@dataclass
class Chains:
    """chain: of each node. time: its moment. is_task, kernel: masks over nodes. first_task: the first node of a task; all of them
    stand together, begun says when they began. call_start, call_end, task, collective: node of each api, task and comm row
    (-1: a part). row: of each node in its table.
    member: task rows that belong to a collective; the collective is their node.
    hidden: api rows inside a call that waits; the waiting call stands for them (outer: its row, else the row itself)."""

    chain: Array
    time: Array
    first_task: int
    begun: Array
    is_task: Array
    kernel: Array
    row: Array
    call_start: Array
    call_end: Array
    task: Array
    collective: Array
    member: Array
    hidden: Array
    outer: Array

    @property
    def start(self) -> Array:
        """When each node began: tasks with their start, all others at their time."""
        return self.start_of(np.arange(len(self.time)))

    def start_of(self, nodes: Array) -> Array:
        """When these nodes began."""
        start: Array = self.time[nodes]
        at = nodes - self.first_task
        tasks = (at >= 0) & (at < len(self.begun))
        start[tasks] = self.begun[at[tasks]]
        return start

    @property
    def position(self) -> Array:
        """Place of each node on its chain."""
        places = np.arange(len(self.chain), dtype=np.int32)
        return places - np.maximum.accumulate(np.where(changes(self.chain), places, np.int32(0))) if len(places) else places

    def head_of(self, node: int) -> int:
        """The first node of a node's chain."""
        return int(self._heads[np.searchsorted(self._heads, node, side="right") - 1])

    @cached_property
    def _heads(self) -> Array:
        return np.flatnonzero(changes(self.chain))


def lay_out(trace: Trace, waits: Array) -> Chains:
    """Number the nodes of a trace. A collective takes part as one task, whatever tasks it is made of."""
    outer = _outer(trace, waits)
    hidden = outer != np.arange(len(outer))
    shown = np.flatnonzero(~hidden)
    calls = _by_thread(trace, shown)
    owner = collective_of(trace)
    spans = _spans(trace, owner)
    thread = trace.api["thread"][calls >> 1].astype(np.int64) if len(calls) else np.zeros(0, np.int64)
    stream_order = np.lexsort((spans.end, spans.start, spans.stream, spans.device))
    device, stream = spans.device[stream_order], spans.stream[stream_order]
    api_count, task_count, span_count = len(trace.api), len(trace.task), len(stream_order)
    count = len(calls) + span_count + 2 * int(hidden.sum())

    chain = np.empty(count, np.int32)
    chain[: len(calls)] = np.cumsum(changes(thread))
    chain[len(calls) : len(calls) + span_count] = count + np.cumsum(changes(device, stream))
    chain[len(calls) + span_count :] = -1 - np.arange(count - len(calls) - span_count)  # alone
    time, row = np.empty(count, np.int64), np.full(count, -1, np.int32)
    is_task, kernel = np.zeros(count, bool), np.zeros(count, bool)
    call_start, call_end, task = (np.empty(n, np.int32) for n in (api_count, api_count, task_count))

    places = np.arange(len(calls))
    at_end = (calls & 1) == 1
    call_start[calls[~at_end] >> 1], call_end[calls[at_end] >> 1] = places[~at_end], places[at_end]
    alone = np.flatnonzero(hidden)
    call_start[alone] = len(calls) + span_count + 2 * np.arange(len(alone))
    call_end[alone] = call_start[alone] + 1
    for nodes, name in ((call_start, "start"), (call_end, "end")):
        if api_count:
            time[nodes] = trace.api[name]
            row[nodes] = np.arange(api_count)
    first = len(calls)
    time[first : first + span_count] = spans.end[stream_order]
    is_task[first : first + span_count] = True
    kernel[first : first + span_count] = spans.kernel[stream_order]
    of_task, of_comm = spans.task[stream_order], spans.comm[stream_order]
    row[first : first + span_count] = of_task
    task[of_task[of_task >= 0]] = first + np.flatnonzero(of_task >= 0)
    collective = np.full(len(trace.comm), -1, np.int64)
    collective[of_comm[of_comm >= 0]] = first + np.flatnonzero(of_comm >= 0)
    member = owner >= 0
    task[member] = collective[owner[member]]
    begun = spans.start[stream_order]
    return Chains(chain, time, first, begun, is_task, kernel, row, call_start, call_end, task, collective, member, hidden, outer)


def _by_thread(trace: Trace, rows: Array) -> Array:
    """Moments (2 * row + 1 at its end) by thread and time; at one time: ends, inner ones first, then starts, outer first."""
    if not len(rows):
        return np.zeros(0, np.int64)
    start, end = trace.api["start"][rows].astype(np.int64), trace.api["end"][rows].astype(np.int64)
    thread = trace.api["thread"][rows]
    order = np.lexsort((-end, start, thread))
    same = thread[order][1:] == thread[order][:-1]
    moments = np.stack((2 * rows, 2 * rows + 1), axis=1)
    if not (same & (start[order][1:] < end[order][:-1])).any():  # no call inside another
        return moments[order].ravel()
    empty = start == end
    both = np.concatenate((moments[:, 0], moments[:, 1]))
    time = np.concatenate((start, end))
    phase = np.concatenate((np.ones(len(rows), np.int8), np.where(empty, 1, 0).astype(np.int8)))
    inner = np.concatenate((-end, np.where(empty, -end, -start)))
    return both[np.lexsort((both, inner, phase, time, np.concatenate((thread, thread))))]


def _outer(trace: Trace, waits: Array) -> Array:
    """Per api row the waiting row of its thread that encloses it, else itself."""
    own = np.arange(len(trace.api), dtype=np.int32)
    if not waits.any():
        return own
    thread, start, end = (trace.api[n].astype(np.int64) for n in ("thread", "start", "end"))
    waiting = np.flatnonzero(waits)
    waiting = waiting[np.lexsort((-end[waiting], start[waiting], thread[waiting]))]
    # Only the outermost of nested waiting calls can enclose others; later ones that end earlier lie inside it.
    base = thread * (int(end.max()) + 1)
    reach = np.maximum.accumulate(base[waiting] + end[waiting])
    outermost = waiting[np.concatenate(([True], base[waiting][1:] + end[waiting][1:] > reach[:-1]))]
    keys = base[outermost] + start[outermost]
    at = np.maximum(np.searchsorted(keys, base + start, side="right") - 1, 0)
    holder = outermost[at]
    inside = (
        (thread[holder] == thread) & (start[holder] <= start) & (end <= end[holder]) & (end - start < end[holder] - start[holder])
    )
    return np.where(inside, holder, own).astype(np.int32)


class _Spans(NamedTuple):
    """What runs on streams: of task and comm rows (task, comm: the row, -1 in the other)."""

    device: Array
    stream: Array
    start: Array
    end: Array
    kernel: Array
    task: Array
    comm: Array


def _spans(trace: Trace, owner: Array) -> _Spans:
    """Task rows outside collectives, then collectives: on the stream of their first task, else on their own, else one chain
    (stream below zero) per group."""
    parts = []
    if task := trace.task:
        rows = np.flatnonzero(owner < 0)
        device, stream, start, end = (task[n][rows].astype(np.int64) for n in ("device", "stream", "start", "end"))
        parts.append(_Spans(device, stream, start, end, trace.tasks_of("kernel", "aicpu")[rows], rows, np.full(len(rows), -1)))
    if comm := trace.comm:
        rows = np.flatnonzero(comm["level"] == events.COMM_LEVELS.index("op"))
        known, group = comm.get("stream"), comm.get("group")
        own = np.full(len(comm), -2, np.int64) if group is None else -3 - group.astype(np.int64)
        if known is not None:
            own = np.where(known >= 0, known.astype(np.int64), own)
        members = np.flatnonzero(owner >= 0)
        members = members[np.argsort(-trace.task["start"][members], kind="stable")] if len(members) else members
        if len(members):
            own[owner[members]] = trace.task["stream"][members]  # the one that starts first is written last
        device, start, end = (comm[n][rows].astype(np.int64) for n in ("device", "start", "end"))
        parts.append(_Spans(device, own[rows], start, end, np.zeros(len(rows), bool), np.full(len(rows), -1), rows))
    if not parts:
        nothing = np.zeros(0, np.int64)
        return _Spans(nothing, nothing, nothing, nothing, np.zeros(0, bool), nothing, nothing)
    return _Spans(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
