"""The Ascend Hardware layer of the timeline: the tasks of each stream."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from npu import events
from profiler.export import chrome, columns, csvtext, words
from profiler.export.flows import Flows
from profiler.export.timeline_host import connections
from profiler.trace import Array, Trace

OPERATIONS = {"h2h": "host to host", "h2d": "host to device", "d2h": "device to host", "d2d": "device to device"}


def events_of(trace: Trace, _flows: Flows) -> Iterator[list[str]]:
    """Metadata of each device and stream, then one event per task, named after the operator or else its type.

    Copies carry size, bandwidth and direction whenever the trace knows them (the real exporter: with --runtime-api=on).
    """
    if not trace.task:
        return
    task, strings = trace.task, trace.strings
    for device in np.unique(task["device"]).tolist():
        pid = chrome.process_id(trace, chrome.HARDWARE, device)
        streams = np.unique(columns.column(task, "stream")[task["device"] == device]).tolist()
        yield chrome.metadata(pid, chrome.HARDWARE, device, [(s, f"Stream {s}") for s in streams])

    keys = [columns.column(task, n) for n in ("device", "stream", "name", "kind", "direction", "task_type", "model")]
    rows, which = columns.distinct(keys)
    heads, middles, tails = [], [], []
    for device, stream, name, kind, direction, type_id, model in zip(*(k[rows].tolist() for k in keys), strict=True):
        called = words.task_type(kind, direction, strings[type_id])
        title = strings[name] if name >= 0 else called.kernel_type
        subtask = "0" if strings[type_id].startswith("MIX") else csvtext.NO_ID
        pid = chrome.process_id(trace, chrome.HARDWARE, device)
        heads.append(f'{{"name":{chrome.text(title)},"pid":{pid},"tid":{stream},"ts":"')
        middles.append(f',"args":{{"Model Id":{model if model >= 0 else csvtext.NO_ID},"Task Type":{chrome.text(called.stars)},'
                       f'"Physic Stream Id":{stream},"Task Id":')
        tails.append(f',"Batch Id":0,"Subtask Id":{subtask}')
    zero = chrome.unix_zero(trace)
    task_id, correlation = columns.column(task, "task_id"), columns.column(task, "correlation")
    copies = trace.tasks_of("copy")
    for begin in range(0, len(task), columns.CHUNK):
        part = slice(begin, begin + columns.CHUNK)
        yield [
            f'{heads[w]}{start}","dur":{duration}{middles[w]}{number}{tails[w]}{connection}{copy}}},"ph":"X"}}'
            for w, start, duration, number, connection, copy in zip(
                which[part].tolist(), columns.microseconds(task["start"][part] + zero),
                columns.microseconds(task["end"][part] - task["start"][part]), columns.ints(task_id[part], csvtext.NO_ID),
                connections(correlation[part]), _copies(trace, part, copies[part]), strict=True)
        ]


def _copies(trace: Trace, part: slice, copies: Array) -> list[str]:
    """Size, GB/s (bytes per ns) and direction of the copies of a chunk; empty texts for all other tasks."""
    made = [""] * len(copies)
    size = columns.column(trace.task, "bytes")[part]
    direction = columns.column(trace.task, "direction")[part]
    duration = (trace.task["end"] - trace.task["start"])[part] if copies.any() else None
    for row in np.flatnonzero(copies & (size >= 0)).tolist():
        ns = int(duration[row]) if duration is not None else 0
        bandwidth = round(int(size[row]) / ns, 6) if ns else 0.0
        way = OPERATIONS[events.DIRECTIONS[int(direction[row])]] if direction[row] >= 0 else "other"
        made[row] = f',"size(B)":{int(size[row])},"bandwidth(GB/s)":{bandwidth},"operation":"{way}"'
    return made
