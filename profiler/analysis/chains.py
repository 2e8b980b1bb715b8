"""The nodes of the graph in the order of their chains: the two moments of each call along its thread, the ends of tasks along
their stream."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from npu import events
from profiler.analysis.breakdown import collective_of
from profiler.analysis.calls import by_thread
from profiler.analysis.groups import changes, in_order, narrow
from profiler.trace import Array, Trace


@dataclass
class Chains:
    """heads: first node of each chain. time: the moment of each node. first_task: the first node of a task; all of them stand
    together: lasted says how long each took, kernels whether it is a kernel. call_start, call_end, task, collective: node of each
    api, task and comm row (-1: a part). row: of each node in its table.
    member: task rows that belong to a collective; the collective is their node.
    hidden: api rows inside a call that waits; the waiting call stands for them (outer: its row, else the row itself). Their
    moments stand behind all others, each a chain of its own."""

    heads: Array
    time: Array
    first_task: int
    lasted: Array
    kernels: Array
    row: Array
    call_start: Array
    call_end: Array
    task: Array
    collective: Array
    member: Array
    hidden: Array
    outer: Array

    @property
    def tasks(self) -> slice:
        """The nodes of tasks and collectives."""
        return slice(self.first_task, self.first_task + len(self.lasted))

    @property
    def is_task(self) -> Array:
        """Mask over nodes: ends of tasks and collectives."""
        mask = np.zeros(len(self.time), bool)
        mask[self.tasks] = True
        return mask

    @property
    def start(self) -> Array:
        """When each node began: tasks with their start, all others at their time."""
        start: Array = self.time.copy()
        start[self.tasks] -= self.lasted
        return start

    def start_of(self, nodes: Array) -> Array:
        """When these nodes began."""
        start: Array = np.take(self.time, nodes)
        mine, at = self.tasks_among(nodes)
        start[mine] -= np.take(self.lasted, at)
        return start

    def is_kernel(self, nodes: Array) -> Array:
        """Mask: these nodes are ends of kernels."""
        mask = np.zeros(len(nodes), bool)
        mine, at = self.tasks_among(nodes)
        mask[mine] = np.take(self.kernels, at)
        return mask

    def tasks_among(self, nodes: Array) -> tuple[Array | slice, Array]:
        """(where these nodes are tasks or collectives, their places among all of those)."""
        at = nodes - self.first_task
        if not len(at) or (int(at.min()) >= 0 and int(at.max()) < len(self.lasted)):
            return slice(None), at
        mine = np.flatnonzero((at >= 0) & (at < len(self.lasted)))
        return mine, at[mine]

    @property
    def position(self) -> Array:
        """Place of each node on its chain."""
        lengths = np.diff(np.append(self.heads, len(self.time)))
        return np.arange(len(self.time), dtype=np.int32) - np.repeat(self.heads.astype(np.int32), lengths)

    def chain_of(self, nodes: Array) -> Array:
        """Number of the chain each of these nodes stands on, ascending with the nodes."""
        number: Array = np.searchsorted(self.heads, nodes, side="right") - 1
        return number

    def ends_around(self, node: int) -> tuple[int, int]:
        """(the first node of a node's chain, the one behind its last)."""
        number = int(np.searchsorted(self.heads, node, side="right"))
        return int(self.heads[number - 1]), int(self.heads[number]) if number < len(self.heads) else len(self.time)


def lay_out(trace: Trace, waits: Array) -> Chains:
    """Number the nodes of a trace. A collective takes part as one task, whatever tasks it is made of."""
    calls = by_thread(trace)
    outer = _outer(trace, waits, calls)
    hidden = outer != np.arange(len(outer), dtype=outer.dtype)
    shown = calls[~hidden[calls]] if hidden.any() else calls
    begins, ends, threads = _moments(trace, shown)
    owner = collective_of(trace)
    spans = _spans(trace, owner)
    if not in_order(spans.device, spans.stream, spans.start, spans.end):
        order = np.lexsort((spans.end, spans.start, spans.stream, spans.device))
        spans = _Spans(*(np.take(c, order) for c in spans))
    api_count, first, alone = len(trace.api), 2 * len(begins), np.flatnonzero(hidden)
    behind = first + len(spans.end)
    count = behind + 2 * len(alone)

    streams = first + np.flatnonzero(changes(spans.device, spans.stream))
    heads = np.concatenate((threads, streams, np.arange(behind, count)))
    time, row = np.empty(count, np.int64), np.full(count, -1, np.int32)
    call_start: Array
    call_end: Array
    call_start, call_end, task = (np.empty(n, np.int32) for n in (api_count, api_count, len(trace.task)))
    numbers = np.arange(api_count, dtype=np.int32)
    if np.array_equal(shown, numbers):  # the calls stand by thread and start
        call_start, call_end = begins, ends
    else:
        call_start[shown], call_end[shown] = begins, ends
        call_start[alone] = behind + 2 * np.arange(len(alone), dtype=np.int32)
        call_end[alone] = call_start[alone] + 1
    for nodes, name in ((call_start, "start"), (call_end, "end")):
        if api_count:
            time[nodes] = trace.api[name]
            row[nodes] = numbers
    time[first:behind] = spans.end
    lasted = narrow(spans.end - spans.start)
    row[first:behind] = spans.task
    collective = np.full(len(trace.comm), -1, np.int64)
    for nodes, rows in ((task, spans.task), (collective, spans.comm)):
        if len(nodes) and rows.strides != (0,):
            known = rows >= 0
            places = np.arange(first, behind, dtype=np.int32)
            nodes[rows if known.all() else rows[known]] = places if known.all() else places[known]
    member = owner >= 0
    task[member] = collective[owner[member]]
    return Chains(heads, time, first, lasted, spans.kernel, row, call_start, call_end, task, collective, member, hidden, outer)


def _moments(trace: Trace, rows: Array) -> tuple[Array, Array, Array]:
    """(place of the start and of the end of each of these calls, which come by thread and start, among the moments by thread and
    time; the first moment of each thread). At one time: ends, inner ones first, then starts, outer first."""
    if not len(rows):
        return rows, rows, rows
    start, end, thread = (np.take(trace.api[n], rows) for n in ("start", "end", "thread"))
    same = thread[1:] == thread[:-1]
    if not (same & (start[1:] < end[:-1])).any():  # no call inside another
        begins = np.arange(0, 2 * len(rows), 2, dtype=np.int32)
        return begins, begins + 1, 2 * np.flatnonzero(changes(thread))
    empty = start == end
    time, double = np.concatenate((start, end)), np.concatenate((thread, thread))
    phase = np.concatenate((np.ones(len(rows), np.int8), np.where(empty, 1, 0).astype(np.int8)))
    inner = np.concatenate((-end, np.where(empty, -end, -start)))
    moment = np.concatenate((2 * rows, 2 * rows + 1))
    order = np.lexsort((moment, inner, phase, time, double))
    place = np.empty(2 * len(rows), np.int32)
    place[order] = np.arange(2 * len(rows), dtype=np.int32)
    return place[: len(rows)], place[len(rows) :], np.flatnonzero(changes(double[order]))


def _outer(trace: Trace, waits: Array, calls: Array) -> Array:
    """Per api row the waiting row of its thread that encloses it, else itself. calls: all rows by thread and start."""
    own = np.arange(len(trace.api), dtype=np.int32)
    at = np.flatnonzero(waits[calls[:-1]])
    if not len(at):
        return own
    thread, start, end = (trace.api[n].astype(np.int64, copy=False) for n in ("thread", "start", "end"))
    held, after = calls[at], calls[at + 1]
    if not ((start[after] <= end[held]) & (thread[after] == thread[held])).any():  # what comes next begins later
        return own
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
    if (task := trace.task) and not trace.comm:
        every, none = np.arange(len(task), dtype=np.int32), np.broadcast_to(np.int32(-1), len(task))
        kernels = trace.tasks_of("kernel", "aicpu")
        return _Spans(task["device"], task["stream"], task["start"], task["end"], kernels, every, none)
    if task:
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
