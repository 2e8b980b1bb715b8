"""The CANN layer of the timeline: host calls by thread."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from npu import events
from profiler.export import chrome, columns, words
from profiler.export.flows import Flows
from profiler.trace import Array, Trace


def events_of(trace: Trace, flows: Flows) -> Iterator[list[str]]:
    """Metadata, then one event per call: AscendCL@name, Node@launch (item_id names the kernel), Model@..., Runtime@...

    With recorded stacks an event has its call's as "Call stack"."""
    if not trace.api:
        return
    pid = chrome.process_id(trace, chrome.CANN)
    threads = thread_ids(trace)
    known = sorted(set(threads.tolist()))
    yield chrome.metadata(pid, chrome.CANN, threads=[(tid, f"Thread {tid}") for tid in known])

    api, strings = trace.api, trace.strings
    keys = (threads, api["level"], api["name"], _items(trace, flows), columns.column(api, "stack"))
    rows, which = columns.distinct(keys)
    heads, tails = [], []
    for tid, level, name, item, stack in zip(*(k[rows].tolist() for k in keys), strict=True):
        call, kind = strings[name], events.LEVELS[level]
        mode = acl_mode(call) if kind == "acl" else "master" if kind == "communication" else call
        shown = call if kind == "acl" else "0"
        subject = call if kind == "communication" else strings[item] if item >= 0 else "0"
        heads.append(f'{{"name":{chrome.text(f"{words.LAYERS[kind]}@{call}")},"pid":{pid},"tid":{tid},"ts":"')
        tails.append(f',"args":{{"Thread Id":{tid},"Mode":{chrome.text(mode)},"level":"{words.LEVELS[kind]}",'
                     f'"id":{chrome.text(shown)},"item_id":{chrome.text(subject)}{call_stack(strings[stack])}')
    zero = chrome.unix_zero(trace)
    correlation = columns.column(api, "correlation")
    for begin in range(0, len(api), columns.CHUNK):
        part = slice(begin, begin + columns.CHUNK)
        yield [
            f'{heads[w]}{start}","dur":{duration}{tails[w]}{connection}}},"ph":"X"}}'
            for w, start, duration, connection in zip(
                which[part].tolist(), columns.microseconds(api["start"][part] + zero),
                columns.microseconds(api["end"][part] - api["start"][part]), connections(correlation[part]), strict=True)
        ]


def thread_ids(trace: Trace) -> Array:
    """The operating system's thread id of each api row.

    Own captures count threads from 0; meta["threads"] lists their ids. Without the list the first thread is the process
    itself, as on Linux, and later ones follow it. Other sources have real ids already.
    """
    return system_threads(trace, trace.api["thread"])


def system_threads(trace: Trace, numbers: Array) -> Array:
    """The same for the threads of any rows."""
    thread = np.asarray(numbers, np.int64)
    known = trace.meta.get("threads")
    if isinstance(known, list | tuple) and len(known) > int(thread.max()) and int(thread.min()) >= 0:
        return np.asarray(known, np.int64)[thread]
    if trace.meta.get("generator") == "npuscope":
        return thread + int(trace.meta.get("pid", 0))
    return thread


def call_stack(frames: str) -> str:
    """The argument that holds a Python stack, in the form torch_npu has for it; nothing for "". Frames: file:line function."""
    if not frames:
        return ""
    made = []
    for frame in frames.splitlines():
        place, _, function = frame.rpartition(" ")
        file, _, line = place.rpartition(":")
        made.append(f"{file}({line}): {function}" if line.isdecimal() else frame)
    text = chrome.text(";\r\n".join(made))
    return f',"Call stack":{text}'


def connections(correlation: Array) -> list[str]:
    """The last argument of events that take part in a launch; nothing for those that do not."""
    return [f',"connection_id":{c}' if c >= 0 else "" for c in correlation.tolist()]


def acl_mode(name: str) -> str:
    """The group msprof files an AscendCL call under, by its name."""
    if name.endswith("_Tiling"):
        return "ACL_NN"
    for row in words.acl_modes():
        if name.startswith(row["prefix"]):
            return row["mode"]
    return "ACL_OTHERS"


def _items(trace: Trace, flows: Flows) -> Array:
    """For launches of the node level the name (text id) of the kernel they launch, -1 elsewhere."""
    items = np.full(len(trace.api), -1, np.int64)
    if not trace.task:
        return items
    plain = ~flows.comm
    launches = flows.api[plain]
    items[launches] = trace.task["name"][flows.head[plain]]
    items[trace.api["level"] != events.LEVELS.index("node")] = -1
    return items
