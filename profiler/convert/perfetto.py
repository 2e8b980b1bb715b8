"""The timeline of a capture for Perfetto: small exact times, ids of arrows and processes in 32 bits."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from profiler.convert.timeline import of_trace
from profiler.convert.write import Placed, number_pids, usable, write
from profiler.trace import Trace


def export_perfetto(trace: Trace, folder: Path, now: datetime | None = None) -> Path:
    """perfetto_{stamp}.json in a folder. FileExistsError when it is there, Unreadable for a trace without a timeline."""
    timeline = of_trace(trace, trace.source.name)
    path = folder / f"perfetto_{(datetime.now() if now is None else now).strftime('%Y%m%d%H%M%S')}.json"
    placed = Placed(timeline, usable(timeline.raw))
    number_pids([placed])
    write(path, [placed])
    return path
