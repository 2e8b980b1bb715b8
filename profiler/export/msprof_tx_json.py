"""msprof_tx_{stamp}.json: the marks and ranges of the program as a timeline of their own."""

from __future__ import annotations

from pathlib import Path

from profiler.export import timeline_marks
from profiler.export.files import whole
from profiler.export.flows import flows
from profiler.trace import Trace

NAME = "msprof_tx_json"


def write(trace: Trace, folder: Path, stamp: str) -> list[Path]:
    """The file; no file without marks."""
    chunks = [events for events in timeline_marks.events_of(trace, flows(trace)) if events]
    if not chunks:
        return []
    path = folder / f"msprof_tx_{stamp}.json"
    with whole(path) as out:
        out.write("[" + ",\n".join(text for events in chunks for text in events) + "]")
    return [path]
