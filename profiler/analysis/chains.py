"""The nodes of the graph in the order of their chains: the two moments of each call along its thread, the ends of tasks along
their stream."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from npu import events
from profiler.analysis.breakdown import in_collective
from profiler.analysis.groups import changes
from profiler.trace import Array, Trace


@dataclass
class Chains:
    """chain, position: of each node. time: its moment; start: of tasks, else time. is_task, kernel: masks over nodes.
    call_start, call_end, task: node of each api and task row. row: of each node in its table.
    hidden: api rows inside a call that waits; the waiting call stands for them (outer: its row, else the row itself)."""

    chain: Array
    position: Array
    time: Array
    start: Array
    is_task: Array
    kernel: Array
    row: Array
    call_start: Array
    call_end: Array
    task: Array
    hidden: Array
    outer: Array


def lay_out(trace: Trace, waits: Array) -> Chains:
    """Number the nodes of a trace. Collectives without task rows of their own take part as if they were tasks."""
    outer = _outer(trace, waits)
    hidden = outer != np.arange(len(outer))
    shown = np.flatnonzero(~hidden)
    calls = _by_thread(trace, shown)
    spans = _spans(trace)
    thread = trace.api["thread"][calls >> 1].astype(np.int64) if len(calls) else np.zeros(0, np.int64)
    stream_order = np.lexsort((spans.end, spans.start, spans.stream, spans.device))
    device, stream = spans.device[stream_order], spans.stream[stream_order]
    api_count, task_count, span_count = len(trace.api), len(trace.task), len(stream_order)
    count = len(calls) + span_count + 2 * int(hidden.sum())

    chain = np.empty(count, np.int64)
    chain[: len(calls)] = np.cumsum(changes(thread))
    chain[len(calls) : len(calls) + span_count] = count + np.cumsum(changes(device, stream))
    chain[len(calls) + span_count :] = -1 - np.arange(count - len(calls) - span_count)  # alone
    time, start, row = np.empty(count, np.int64), np.empty(count, np.int64), np.full(count, -1, np.int64)
    is_task, kernel = np.zeros(count, bool), np.zeros(count, bool)
    call_start, call_end, task = np.empty(api_count, np.int64), np.empty(api_count, np.int64), np.empty(task_count, np.int64)

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
    time[first : first + span_count], start[first : first + span_count] = spans.end[stream_order], spans.start[stream_order]
    is_task[first : first + span_count] = True
    kernel[first : first + span_count] = spans.kernel[stream_order]
    row[first : first + span_count] = np.where(stream_order < task_count, stream_order, -1)
    real = stream_order < task_count
    task[stream_order[real]] = first + np.flatnonzero(real)
    start[~is_task] = time[~is_task]
    heads = changes(chain)
    position = np.arange(count) - np.maximum.accumulate(np.where(heads, np.arange(count), 0)) if count else np.zeros(0, np.int64)
    return Chains(chain, position, time, start, is_task, kernel, row, call_start, call_end, task, hidden, outer)


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
    own = np.arange(len(trace.api))
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
    return np.where(inside, holder, own)


class _Spans(NamedTuple):
    device: Array
    stream: Array
    start: Array
    end: Array
    kernel: Array


def _spans(trace: Trace) -> _Spans:
    """Task rows, then rows of collectives that have no task rows, each group on a chain of its own (stream below zero)."""
    parts = []
    if task := trace.task:
        device, stream, start, end = (task[n].astype(np.int64) for n in ("device", "stream", "start", "end"))
        parts.append(_Spans(device, stream, start, end, trace.tasks_of("kernel", "aicpu")))
    if trace.comm and not in_collective(trace).any():
        comm = trace.comm.take(trace.comm["level"] == events.COMM_LEVELS.index("op"))
        known, group = comm.get("stream"), comm.get("group")
        alone = np.full(len(comm), -2, np.int64) if group is None else -3 - group.astype(np.int64)
        own = alone if known is None else np.where(known >= 0, known.astype(np.int64), alone)
        device, start, end = (comm[n].astype(np.int64) for n in ("device", "start", "end"))
        parts.append(_Spans(device, own, start, end, np.zeros(len(comm), bool)))
    if not parts:
        nothing = np.zeros(0, np.int64)
        return _Spans(nothing, nothing, nothing, nothing, np.zeros(0, bool))
    device, stream, start, end, kernel = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return _Spans(device, stream, start, end, kernel)
