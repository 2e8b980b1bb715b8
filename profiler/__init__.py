"""Record, read, analyse, export and report: `open(path) -> Trace`, `analyze(trace) -> findings`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from os import PathLike

    from profiler.findings import Finding
    from profiler.trace import Trace

__all__ = ["analyze", "open"]


def open(path: str | PathLike[str]) -> Trace:
    """A Trace of whatever lies at path: a PROF folder, its parent, or a single file.

    What could not be read stands in Trace.missing with its reason; profiler.trace.Unreadable when nothing could be.
    """
    from profiler.read import open_trace

    return open_trace(path)


def analyze(trace: Trace) -> list[Finding]:
    """Findings in order of the time they cost."""
    from profiler.analysis import analyze as run

    return run(trace).findings
