"""msprof_{stamp}.json: the timeline as a Chrome trace, an array of events. Times are texts in unix us with three decimals."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from profiler.export import timeline_comm, timeline_counters, timeline_device, timeline_flows, timeline_host, timeline_overlap
from profiler.export.files import whole
from profiler.export.flows import Flows, flows
from profiler.trace import Trace

NAME = "msprof"
Layer = Callable[[Trace, Flows], Iterator[list[str]]]
LAYERS: tuple[Layer, ...] = (
    timeline_host.events_of, timeline_device.events_of, timeline_comm.events_of, timeline_flows.events_of,
    timeline_counters.events_of, timeline_overlap.events_of,
)


def write(trace: Trace, folder: Path, stamp: str) -> list[Path]:
    """The file; no file for a trace without host calls, tasks and communication."""
    if not (trace.api or trace.task or trace.comm):
        return []
    path = folder / f"{NAME}_{stamp}.json"
    pairs = flows(trace)
    with whole(path) as out:
        separator = "["
        for layer in LAYERS:
            for events in layer(trace, pairs):
                if events:
                    out.write(separator)
                    out.write(",\n".join(events))
                    separator = ",\n"
        out.write("]")
    return [path]
