"""Analysis: `analyze(trace) -> Report`. Importing this costs nothing; numpy comes with the first analysis."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from profiler.findings import Report
    from profiler.trace import Trace

__all__ = ["analyze", "analyze_with_path"]


def analyze(trace: Trace, all_findings: bool = False, views: bool = False) -> Report:
    """Everything the rules say of a trace: checklist, breakdown, findings by recoverable time, joint gain, replay quality.

    Times ns. all_findings: also those below the note level. views: with the tables of all views. A trace without device work
    gives a report without findings, whose checklist says what was not measured.
    """
    from profiler.analysis.run import report

    return report(trace, all_findings, views)


def analyze_with_path(trace: Trace) -> tuple[Report, list[tuple[str, int]]]:
    """The report, and the critical path of its window as (table, row) in order of time; the graph is built once for both."""
    from profiler.analysis.run import with_path

    return with_path(trace)
