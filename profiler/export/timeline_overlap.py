"""The Overlap Analysis layer of the timeline."""

from __future__ import annotations

from collections.abc import Iterator

from profiler.export import chrome, columns
from profiler.export.flows import Flows
from profiler.export.overlap import ROWS, overlap
from profiler.trace import Trace


def events_of(trace: Trace, _flows: Flows) -> Iterator[list[str]]:
    """Per device four threads, one for each set of times."""
    zero = chrome.unix_zero(trace)
    for device in trace.devices():
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
