"""The program's own layer of the timeline: marks and ranges by thread, with arrows to the device for those on a stream."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from profiler.export import chrome, columns, info_json
from profiler.export.flows import Flows
from profiler.export.marks import marks
from profiler.trace import Trace

ARROW = "MsTx"


def events_of(trace: Trace, _flows: Flows) -> Iterator[list[str]]:
    """Metadata, one event per mark (without length) or range, and the arrows. The layer has the program's name."""
    found = marks(trace)
    if found is None:
        return
    layer = chrome.Layer(info_json.program(trace) or "Python", 6, "CPU")
    pid = chrome.process_id(trace, layer)
    yield chrome.metadata(pid, layer, threads=[(t, f"Thread {t}") for t in np.unique(found.thread).tolist()])
    zero, rows = chrome.unix_zero(trace), found.rows
    starts = columns.microseconds(rows["start"] + zero)
    lengths = columns.microseconds(rows["end"] - rows["start"])
    names = columns.texts_of(trace.strings, rows["name"], "")
    domains = columns.texts_of(trace.strings, columns.column(rows, "domain"), "default")
    correlation = columns.column(rows, "correlation")
    threads = found.thread.tolist()
    made = []
    for n, (name, domain, tid) in enumerate(zip(names, domains, threads, strict=True)):
        connection = f',"connection_id":{int(correlation[n])}' if found.device_start[n] >= 0 else ""
        made.append(
            f'{{"name":{chrome.text(name)},"pid":{pid},"tid":{tid},"ts":"{starts[n]}","dur":{lengths[n]},'
            f'"args":{{"event_type":"{found.event[n]}","domain":{chrome.text(domain)}{connection}}},"ph":"X"}}'
        )
    yield made
    at_device = np.flatnonzero(found.device_start >= 0).tolist()
    heads = columns.microseconds(found.device_start + zero)
    yield [
        f'{{"name":"{ARROW}{number}","ph":"s","cat":"{ARROW}","id":"{number}","pid":{pid},"tid":{threads[n]},'
        f'"ts":"{starts[n]}"}},\n'
        f'{{"name":"{ARROW}{number}","ph":"f","bp":"e","cat":"{ARROW}","id":"{number}",'
        f'"pid":{chrome.process_id(trace, chrome.HARDWARE, int(found.device[n]))},"tid":{int(found.stream[n])},'
        f'"ts":"{heads[n]}"}}'
        for n, number in ((n, int(correlation[n])) for n in at_device)
    ]
