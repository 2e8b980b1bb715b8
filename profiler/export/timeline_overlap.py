"""The Overlap Analysis layer of the timeline."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from profiler.export import chrome, columns
from profiler.export.flows import Flows
from profiler.export.overlap import ROWS, overlap
from profiler.trace import Trace


def events_of(trace: Trace, _flows: Flows) -> Iterator[list[str]]:
    """Per device four threads, one for each set of times."""
    zero = chrome.unix_zero(trace)
    for device in devices_of(trace):
        sets = overlap(trace, device)
        if not any(len(s.starts) for s in sets.values()):
            continue
        pid = chrome.process_id(trace, chrome.OVERLAP, device)
        yield chrome.metadata(pid, chrome.OVERLAP, device, enumerate(ROWS))
        for tid, (name, spans) in enumerate(sets.items()):
            head = f'{{"name":"{name}","pid":{pid},"tid":{tid},"ts":"'
            for begin in range(0, len(spans.starts), columns.CHUNK):
                part = slice(begin, begin + columns.CHUNK)
                yield [
                    f'{head}{start}","dur":{duration},"ph":"X"}}'
                    for start, duration in zip(columns.microseconds(spans.starts[part] + zero),
                                               columns.microseconds(spans.ends[part] - spans.starts[part]), strict=True)
                ]


def devices_of(trace: Trace) -> list[int]:
    """Devices that did something, in order."""
    found = [np.unique(t["device"]) for t in (trace.task, trace.comm) if t]
    return sorted({int(d) for ids in found for d in ids.tolist() if d >= 0})
