"""HostToDevice arrows of the timeline: 's' at the host call, 'f' at what it launched."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from profiler.export import chrome, columns
from profiler.export.flows import Flows
from profiler.export.timeline_comm import group_threads
from profiler.export.timeline_host import thread_ids
from profiler.trace import Array, Trace


def events_of(trace: Trace, flows: Flows) -> Iterator[list[str]]:
    """Two events per pair with one id, a text: the connection id shifted by 32 bits, as the current exporter makes it."""
    if not len(flows.correlation):
        return
    zero = chrome.unix_zero(trace)
    host = chrome.process_id(trace, chrome.CANN)
    tids, tail_start = thread_ids(trace)[flows.api], trace.api["start"][flows.api]
    pid, tid, head_start = _heads(trace, flows)
    for begin in range(0, len(flows.correlation), columns.CHUNK):
        part = slice(begin, begin + columns.CHUNK)
        yield [
            f'{{"name":"HostToDevice{i}","ph":"s","cat":"HostToDevice","id":"{i}","pid":{host},"tid":{t},"ts":"{s}"}},\n'
            f'{{"name":"HostToDevice{i}","ph":"f","bp":"e","cat":"HostToDevice","id":"{i}","pid":{p},"tid":{stream},"ts":"{f}"}}'
            for i, t, s, p, stream, f in zip(
                [c << 32 for c in flows.correlation[part].tolist()], tids[part].tolist(),
                columns.microseconds(tail_start[part] + zero), pid[part].tolist(), tid[part].tolist(),
                columns.microseconds(head_start[part] + zero), strict=True)
        ]


def _heads(trace: Trace, flows: Flows) -> tuple[Array, Array, Array]:
    """Process, thread and start (ns) of each head: a stream, or the thread of a communication group."""
    pid, tid, start = (np.zeros(len(flows.head), np.int64) for _ in range(3))
    for is_comm, table, layer in ((False, trace.task, chrome.HARDWARE), (True, trace.comm, chrome.COMMUNICATION)):
        at = np.flatnonzero(flows.comm == is_comm)
        if not len(at):
            continue
        rows = flows.head[at]
        pid[at] = np.array([chrome.process_id(trace, layer, d) for d in range(chrome.HOST + 1)])[table["device"][rows]]
        tid[at] = group_threads(trace)[1][rows] if is_comm else columns.column(table, "stream")[rows]
        start[at] = table["start"][rows]
    return pid, tid, start
