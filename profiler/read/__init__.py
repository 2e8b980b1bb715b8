"""Readers: one module a layout, each `matches(path)` and `read(path) -> Trace`. A reader never fails on a missing part."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from profiler.trace import Trace, Unreadable


def open_trace(path: str | PathLike[str]) -> Trace:
    """The Trace of a PROF folder, its parent, or a file. Several captures under one parent become parts of one Trace, the
    first of which is also its own content. Unreadable says what is there and what to do."""
    place = Path(path)
    if not place.exists():
        raise Unreadable(
            f"there is no {place}", "check the path; msprof run writes PROF_* folders into --output or the current folder"
        )
    from profiler.read.detect import find

    found = find(place)
    if not found:
        raise Unreadable(_seen(place), "give a PROF_* folder, the folder that holds it, or a profile file")
    traces = [read(where) for read, where in found]
    first = traces[0]
    first.parts = traces[1:]
    return first


def _seen(place: Path) -> str:
    if place.is_dir():
        names = sorted(p.name for p in place.iterdir())
        if not names:
            return f"the folder {place} is empty"
        return f"no profile that can be read lies in {place} (it holds {', '.join(names[:3])}{' ...' if len(names) > 3 else ''})"
    return f"{place} is no profile that can be read"
