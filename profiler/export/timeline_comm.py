"""The communication layer of the timeline: per group a thread of operators, then one thread per plane with their parts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from npu import events
from profiler.export import chrome, columns, csvtext
from profiler.export.flows import Flows
from profiler.export.timeline_host import connections
from profiler.trace import Array, Trace

NO_NOTIFY = "18446744073709551615"
NO_TYPE = "INVALID_TYPE"
# A part by the name of its task; sources that know the exact task (RDMASend ...) name it themselves.
PARTS = {"transfer": "Memcpy", "record": "Notify_Record", "wait": "Notify_Wait", "reduce": "Reduce_Inline"}


def events_of(trace: Trace, _flows: Flows) -> Iterator[list[str]]:
    """Metadata of each device and group, then operators, then parts."""
    if not trace.comm:
        return
    names, tids = group_threads(trace)
    for device, threads in names.items():
        pid = chrome.process_id(trace, chrome.COMMUNICATION, device)
        yield chrome.metadata(pid, chrome.COMMUNICATION, device, threads)
    is_op = trace.comm["level"] == events.COMM_LEVELS.index("op")
    for rows, event in ((np.flatnonzero(is_op), _operators), (np.flatnonzero(~is_op), _parts)):
        for begin in range(0, len(rows), columns.CHUNK):
            part = rows[begin : begin + columns.CHUNK]
            yield event(trace, part, tids[part])


def group_threads(trace: Trace) -> tuple[dict[int, list[tuple[int, str]]], Array]:
    """(device -> its threads as (number, name), number of each row). A group takes one thread and one per plane."""
    comm, strings = trace.comm, trace.strings
    group = columns.column(comm, "group")
    is_part = comm["level"] != events.COMM_LEVELS.index("op")
    plane = np.where(is_part, np.maximum(columns.column(comm, "plane"), 0) + 1, 0)
    made: dict[int, list[tuple[int, str]]] = {}
    tids = np.zeros(len(comm), np.int64)
    first = 0  # counts on over devices, as in the real exporter
    for device in np.unique(comm["device"]).tolist():
        for number in np.unique(group[comm["device"] == device]).tolist():
            mine = (comm["device"] == device) & (group == number)
            title = f"Group {strings[number]} Communication" if number >= 0 else "Communication"
            planes = np.unique(plane[mine & is_part]).tolist()
            made.setdefault(device, []).extend([(first, title), *((first + p, f"Plane {p - 1}") for p in planes)])
            tids[mine] = first + plane[mine]
            first += (planes[-1] if planes else 0) + 1
    return made, tids


def _head(trace: Trace, row: int, tid: int, name: str, start: str, duration: str) -> str:
    pid = chrome.process_id(trace, chrome.COMMUNICATION, int(trace.comm["device"][row]))
    return f'{{"name":{chrome.text(name)},"pid":{pid},"tid":{tid},"ts":"{start}","dur":{duration},"args":{{'


def _times(trace: Trace, rows: Array) -> tuple[list[str], list[str]]:
    start = trace.comm["start"][rows]
    return (columns.microseconds(start + chrome.unix_zero(trace)),
            columns.microseconds(trace.comm["end"][rows] - start))


def _operators(trace: Trace, rows: Array, tids: Array) -> list[str]:
    comm, strings = trace.comm, trace.strings
    starts, durations = _times(trace, rows)
    dtype, algorithm = (columns.texts_of(strings, columns.column(comm, n)[rows], csvtext.NA) for n in ("dtype", "algorithm"))
    count = np.maximum(columns.column(comm, "count")[rows], 0).tolist()
    return [
        _head(trace, row, tid, strings[int(comm["name"][row])], start, duration)
        + f'"model id":{csvtext.NO_ID},"data_type":{chrome.text(d)},"alg_type":{chrome.text(a)},"count":{c}{connection}'
        + '},"ph":"X"}'
        for row, tid, start, duration, d, a, c, connection in zip(
            rows.tolist(), tids.tolist(), starts, durations, dtype, algorithm, count,
            connections(columns.column(comm, "correlation")[rows]), strict=True)
    ]


def _parts(trace: Trace, rows: Array, tids: Array) -> list[str]:
    comm, strings = trace.comm, trace.strings
    starts, durations = _times(trace, rows)
    dtype, link, transport = (
        columns.texts_of(strings, columns.column(comm, n)[rows], NO_TYPE) for n in ("dtype", "link", "transport"))
    size = np.maximum(columns.column(comm, "bytes")[rows], 0)
    length = np.maximum(comm["end"][rows] - comm["start"][rows], 1)
    bandwidth = np.round(size / length, 6).tolist()
    numbers = [columns.ints(columns.column(comm, n)[rows], csvtext.NO_ID) for n in ("stream", "task_id", "src", "dst")]
    notify = columns.ints(columns.column(comm, "notify")[rows], NO_NOTIFY)
    kinds = columns.column(comm, "part")[rows].tolist()
    made = []
    each = zip(rows.tolist(), tids.tolist(), starts, durations, kinds, strict=True)
    for n, (row, tid, start, duration, kind) in enumerate(each):
        name_id = int(comm["name"][row])
        name = strings[name_id] if name_id >= 0 else PARTS[events.COMM_PARTS[kind]] if kind >= 0 else csvtext.NA
        stream, task, src, dst = (texts[n] for texts in numbers)
        made.append(
            _head(trace, row, tid, name, start, duration)
            + f'"notify_id":"{notify[n]}","duration estimated(us)":{duration},"stream id":{stream},"task id":{task},'
            f'"context id":{csvtext.NO_ID},"task type":{chrome.text(name)},"src rank":{src},"dst rank":{dst},'
            f'"transport type":{chrome.text(transport[n])},"size(Byte)":{int(size[n])},"data type":{chrome.text(dtype[n])},'
            f'"link type":{chrome.text(link[n])},"bandwidth(GB/s)":{bandwidth[n]},"model id":{csvtext.NO_ID}}},"ph":"X"}}')
    return made
