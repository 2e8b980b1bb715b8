"""The events of any profile: of its timeline files as they are written, else those our own export makes of its Trace."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from profiler.export import timeline_json
from profiler.export.flows import flows
from profiler.read import detect, own, raw_events, walk
from profiler.read.events_json import DECODER, Event, NotEvents, Source
from profiler.read.folder import sorted_out
from profiler.read.raw_events import Raw
from profiler.trace import Trace, Unreadable

WHAT_IS_WANTED = "give a Chrome trace, a PROF_* or *_ascend_pt folder, or a database of msprof"


@dataclass(frozen=True)
class Timeline:
    """One clock's events. `chunks` gives them again each time it is called, in the order of `raw`'s rows."""

    label: str
    chunks: Callable[[], Iterator[list[Event]]]
    raw: Raw

    @property
    def unix_minus_clock(self) -> int | None:
        """Unix time of the clock's zero, ns, where the file says it (metadata, Kineto's base time); None where it does not."""
        extra: Any = self.raw.beside.get("metadata")
        if isinstance(extra, dict) and str(extra.get("unix_zero_ns", "")).isdigit():
            exact: str = extra["unix_zero_ns"]
            return int(exact)  # as our own files say it
        if isinstance(extra, dict) and isinstance(extra.get("unix_minus_clock_us"), int | float):
            return round(float(extra["unix_minus_clock_us"]) * 1000)
        base: Any = self.raw.beside.get("baseTimeNanoseconds")
        return int(base) if isinstance(base, int) else None


def load(path: Path) -> list[Timeline]:
    """The timelines at a path, one for each profile there. Unreadable when there is none."""
    if not path.exists():
        raise FileNotFoundError(2, "no such file or folder", str(path))
    places = detect.find(path)
    if not places:
        raise Unreadable(f"{path} holds no timeline", WHAT_IS_WANTED)
    lone = len(places) == 1
    return [_timeline(read, place, path.name if lone else place.name) for read, place in places]


def _timeline(read: Callable[[Path], Trace], place: Path, label: str) -> Timeline:
    files = [] if read is own.read else sorted_out(_files(place)).timelines
    if not files:
        return of_trace(read(place), label)
    sources = [Source(file) for file in files]
    try:
        raw = raw_events.of_events((some for source in sources for some in source.events()), files[0], label)
    except NotEvents as error:
        empty = files[0].stat().st_size == 0
        what = f"{files[0]} is empty (0 bytes)" if empty else f"{files[0]} holds no trace events"
        raise Unreadable(what, f"leave it out or export it again; {WHAT_IS_WANTED}" if empty else WHAT_IS_WANTED) from error
    for source in sources:
        raw.beside |= source.beside
        raw.problems += source.problems
    return Timeline(label, partial(_of_files, files), raw)


def _files(place: Path) -> list[Path]:
    if place.is_file():
        return [place]
    return [f for folder in (place, *walk.folders(place)) for f in walk.files(folder)]


def _of_files(files: list[Path]) -> Iterator[list[Event]]:
    for file in files:
        yield from Source(file).events()


def of_trace(trace: Trace, label: str) -> Timeline:
    """The events our export would write of a Trace. Unreadable when it holds no host calls, tasks and communication."""
    if not (trace.api or trace.task or trace.comm):
        raise Unreadable(f"{trace.source} holds no timeline: no host calls, tasks or communication", WHAT_IS_WANTED)
    chunks = partial(_of_trace, trace)
    return Timeline(label, chunks, raw_events.of_events(chunks(), trace.source, label))


def _of_trace(trace: Trace) -> Iterator[list[Event]]:
    pairs = flows(trace)
    for _, layer in timeline_json.LAYERS:
        for texts in layer(trace, pairs):
            if texts:
                yield DECODER.decode("[" + ",".join(texts) + "]")
