"""The framework's own layer of a torch_npu timeline: its operators and steps by thread, with arrows to what they launched."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from npu import events
from profiler.export import chrome, columns
from profiler.export.flows import Flows
from profiler.export.framework import operators, owners, parents, stacks
from profiler.export.timeline_comm import group_threads
from profiler.export.timeline_host import call_stack, system_threads
from profiler.trace import Array, Trace

LAYER = chrome.Layer("Python", 0, "CPU")
ARROW, CATEGORY, OPERATOR = "torch_to_npu", "async_npu", "cpu_op"


def events_of(trace: Trace, _flows: Flows) -> Iterator[list[str]]:
    """Metadata, one event per operator or step, and one arrow per task or communication operator that an operator launched. The
    process has the id of the real one; an arrow's id is the time of its head, unix ns, as the framework has it."""
    rows = operators(trace, steps=True)
    if not len(rows):
        return
    marker, strings, zero = trace.marker.take(rows), trace.strings, chrome.unix_zero(trace)
    pid = int(trace.meta.get("pid", 0))
    threads = system_threads(trace, marker["thread"])
    tids = threads.tolist()
    yield chrome.metadata(pid, LAYER, threads=[(t, f"Thread {t}") for t in np.unique(threads).tolist()])
    starts = columns.microseconds(marker["start"] + zero)
    # readers take what begins at another's end as inside it, and on the model clock one begins where the other ends
    lengths = columns.microseconds(np.maximum(marker["end"] - marker["start"] - 1, 0))
    names = marker["name"].tolist()
    frames = [call_stack(strings[stack] if stack >= 0 else "") for stack in stacks(trace, rows).tolist()]
    yield [
        f'{{"ph":"X","name":{chrome.text(strings[name])},"pid":{pid},"tid":{tid},"ts":"{start}","dur":{length},'
        f'"cat":"{OPERATOR}","args":{{"Sequence number":-1,"Fwd thread id":0{frame}}}}}'
        for name, tid, start, length, frame in zip(names, tids, starts, lengths, frames, strict=True)
    ]
    yield from _arrows(trace, rows, [(pid, tid, start) for tid, start in zip(tids, starts, strict=True)])


def _arrows(trace: Trace, rows: Array, tails: list[tuple[int, int, str]]) -> Iterator[list[str]]:
    """rows: of operators; tails: process, thread and time of each."""
    zero, above = chrome.unix_zero(trace), parents(trace, rows)
    for is_comm, table, layer in ((False, trace.task, chrome.HARDWARE), (True, trace.comm, chrome.COMMUNICATION)):
        if not table:
            continue
        owner = owners(trace, rows, above, table)
        hit = owner >= 0
        if is_comm:
            hit &= table["level"] == events.COMM_LEVELS.index("op")
        elif trace.comm:
            hit &= ~np.isin(columns.column(table, "correlation"), columns.column(trace.comm, "correlation"))
        heads = np.flatnonzero(hit)
        pids = [chrome.process_id(trace, layer, d) for d in range(chrome.HOST + 1)]
        tids = (group_threads(trace)[1] if is_comm else columns.column(table, "stream"))[heads].tolist()
        times = table["start"][heads] + zero
        shown, devices = columns.microseconds(times), table["device"][heads].tolist()
        yield [
            f'{{"ph":"s","bp":"e","name":"{ARROW}","id":{time},"pid":{tails[w][0]},"tid":{tails[w][1]},"ts":"{tails[w][2]}",'
            f'"cat":"{CATEGORY}"}},\n'
            f'{{"ph":"f","bp":"e","name":"{ARROW}","id":{time},"pid":{pids[device]},"tid":{tid},"ts":"{at}","cat":"{CATEGORY}"}}'
            for w, time, device, tid, at in zip(owner[heads].tolist(), times.tolist(), devices, tids, shown, strict=True)
        ]
