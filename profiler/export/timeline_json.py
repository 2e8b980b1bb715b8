"""msprof_{stamp}.json: the timeline as a Chrome trace, an array of events. Times are texts in unix us with three decimals."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from pathlib import Path

from profiler.export import (
    timeline_comm,
    timeline_counters,
    timeline_device,
    timeline_flows,
    timeline_host,
    timeline_marks,
    timeline_overlap,
)
from profiler.export.files import whole
from profiler.export.flows import Flows, flows
from profiler.trace import Trace

NAME = "msprof"
SLICE = 1_000_000  # events of one file; more are cut into msprof_slice_{i}_{stamp}.json
Layer = Callable[[Trace, Flows], Iterator[list[str]]]
# Layers by what --reports calls them; arrows need both ends, and each counter has a name of its own.
LAYERS: tuple[tuple[tuple[str, ...], Layer], ...] = (
    (("cann",), timeline_host.events_of),
    (("ascend",), timeline_device.events_of),
    (("communication",), timeline_comm.events_of),
    (("cann", "ascend"), timeline_flows.events_of),
    ((), timeline_counters.events_of),
    (("msproftx",), timeline_marks.events_of),
    (("overlap_analyse",), timeline_overlap.events_of),
)


def write(
    trace: Trace, folder: Path, stamp: str, hidden: Collection[str] = (), before: Sequence[Layer] = ()
) -> list[Path]:
    """The file, or its slices, each an array of its own; no file for a trace without host calls, tasks and communication.

    hidden: layers to leave out, by the names of --reports; before: layers of another layout, which come first. Arrows are texts
    of two events and count as one; a slice has at most SLICE texts.
    """
    if not (trace.api or trace.task or trace.comm):
        return []
    pairs = flows(trace)
    shown = [*before, *(layer for names, layer in LAYERS if not set(names) & set(hidden))]
    counters = partial(timeline_counters.events_of, hidden=hidden)
    layers = [counters if layer is timeline_counters.events_of else layer for layer in shown]
    chunks = (events for layer in layers for events in layer(trace, pairs) if events)
    paths: list[Path] = []
    for part in _slices(chunks):
        path = folder / f"{NAME}_slice_{len(paths)}_{stamp}.json"
        with whole(path) as out:
            separator = "["
            for events in part:
                out.write(separator)
                out.write(",\n".join(events))
                separator = ",\n"
            out.write("]")
        paths.append(path)
    if len(paths) > 1:
        return paths
    return [paths[0].rename(folder / f"{NAME}_{stamp}.json")]


def _slices(chunks: Iterator[list[str]]) -> Iterator[Iterator[list[str]]]:
    """Chunks in runs of at most SLICE events. Each run must be read to its end before the next one is asked for."""
    held: list[list[str]] = []  # the chunk that did not fit any more: at most one

    def run(first: list[str]) -> Iterator[list[str]]:
        count = len(first)
        yield first
        for chunk in chunks:
            if count + len(chunk) > SLICE:
                held.append(chunk)
                return
            count += len(chunk)
            yield chunk

    for first in chunks:
        yield run(first)
        while held:
            yield run(held.pop())
