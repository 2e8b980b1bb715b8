"""Gains on all ranks: what a finding's cure gains when every rank that has the finding is cured, replayed on all ranks together.

Until then a report assumes that the other ranks change as its own does; where all profiles are at hand their graphs are joined
at the collectives they share (profiler.analysis.ranks.together), and nothing need be assumed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import cast

from profiler.analysis.context import Context
from profiler.analysis.edits import Edit, Meet
from profiler.analysis.judge import severity
from profiler.analysis.ranks.together import Together
from profiler.findings import Finding, Report
from profiler.trace import Trace

MOST = 1_000_000  # rows of all profiles together, about 0.4 GB with their graphs; of more, each rank is replayed alone
Key = tuple[str, int]


def cured(reports: Sequence[Report], read: Callable[[int], Trace]) -> tuple[list[Report], int]:
    """The reports with gains on all ranks from one joint replay, and at how many operations the ranks meet.

    0, and nothing changed, where they share none or wait for a rank that is not here. read: the trace of the n-th report.
    """
    contexts = [Context(read(n)) for n in range(len(reports))]
    if not all(len(c.graph.time) for c in contexts):
        return list(reports), 0
    together = Together(contexts)
    if not together.shared or not together.complete:
        return list(reports), 0
    found = [dict(_numbered(r.findings)) for r in reports]
    gains: dict[Key, int] = {}
    for key in dict.fromkeys(k for mine in found for k in mine):
        each = [_edits(mine[key]) if key in mine else () for mine in found]
        if any(each):
            gains[key] = max(0, together.gain(each))
    whole = max(0, together.gain([tuple(e for f in mine.values() for e in _edits(f)) for mine in found]))
    return [_with(r, mine, gains, whole) for r, mine in zip(reports, found, strict=True)], len(together.shared)


def _numbered(findings: Sequence[Finding]) -> Iterator[tuple[Key, Finding]]:
    """The k-th finding of an id on one rank is that on another."""
    seen: dict[str, int] = {}
    for finding in findings:
        seen[finding.id] = seen.get(finding.id, 0) + 1
        yield (finding.id, seen[finding.id]), finding


def _edits(finding: Finding) -> tuple[Edit, ...]:
    """What the cure changes on its own rank; that others come sooner is theirs to say."""
    return tuple(cast(Edit, e) for e in finding.edits if not isinstance(e, Meet)) if finding.gain is not None else ()


def _with(report: Report, mine: dict[Key, Finding], gains: dict[Key, int], whole: int) -> Report:
    length = max(1, report.length)
    made = []
    for key, finding in mine.items():
        if finding.gain is not None and key in gains and _edits(finding):
            gain = replace(finding.gain, on_all_ns=gains[key])
            finding = replace(finding, gain=gain, severity=severity(max(gain.ns, gains[key]), length, gain.confidence))
        made.append(finding)
    return replace(report, findings=made, joint=None if report.joint is None else replace(report.joint, on_all_ns=whole))
