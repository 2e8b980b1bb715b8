"""How a finding is judged: gain by replay, severity by its share of the window, causes and their symptoms, order, joint gain.

Thresholds: the analyzer's spec, section 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from profiler.analysis.context import Context
from profiler.analysis.edits import Edit
from profiler.findings import Evidence, Finding, Gain

CRITICAL = 0.10  # of the window
WARNING = 0.03
NOTE = 0.005
NOTE_NS = 50_000  # of a note, per step; smaller ones are silent unless their share makes them a warning
REPEAT_MIN = 3  # occurrences before something counts as a habit

# Findings that see one cost from two sides: the one with the larger gain is the cause, the other points to it.
SAME_COST = (("blocking-copy", "copy-exposed"), ("small-copies", "copy-exposed"), ("small-copies", "blocking-copy"))


class Name(NamedTuple):
    """Which rule speaks: its id, its number in the catalogue, its layer."""

    id: str
    number: int
    layer: str


def judged(
    context: Context,
    name: Name,
    facts: Mapping[str, object],
    edits: Sequence[Edit],
    *,
    confidence: str,
    evidence: tuple[Evidence, ...] = (),
    sites: tuple[str, ...] = (),
    method: str = "replay",
    at_most: bool = False,
) -> Finding:
    """A finding whose gain is that of its edits, replayed alone."""
    gain = max(0, context.gain(edits))
    return Finding(
        name.id,
        name.number,
        name.layer,
        severity(gain, context.length, confidence),
        facts,
        Gain(gain, method, confidence, at_most),
        evidence,
        sites,
        edits=tuple(edits),
    )


def severity(ns: int, window: int, confidence: str) -> str:
    """critical, warning or note by the share of the window; a finding of low confidence is at most a warning."""
    if ns >= CRITICAL * window and confidence != "low":
        return "critical"
    return "warning" if ns >= WARNING * window else "note"


def speaks(finding: Finding, context: Context) -> bool:
    """False for findings below the note level, which only a full listing shows. One without gain speaks by its rule alone."""
    if finding.gain is None:
        return True
    if finding.gain.ns >= WARNING * context.length:
        return True
    return finding.gain.ns >= NOTE * context.length and finding.gain.ns >= NOTE_NS * context.count


def settled(findings: Sequence[Finding]) -> list[Finding]:
    """Findings by gain; of two that see the same cost the smaller one points to the larger and follows it without a gain."""
    total: dict[str, int] = {}
    for finding in findings:
        total[finding.id] = total.get(finding.id, 0) + _gain(finding)
    causes: dict[str, str] = {}
    for pair in SAME_COST:
        if all(id in total and id not in causes for id in pair):
            small, large = sorted(pair, key=lambda id: total[id])
            causes[small] = large
    ordered = sorted((f for f in findings if f.id not in causes), key=lambda f: (-_gain(f), f.number))
    symptoms = [replace(f, cause=_root(f.id, causes), gain=None, edits=()) for f in findings if f.id in causes]
    for symptom in sorted(symptoms, key=lambda f: -f.number):
        ordered.insert(1 + max(n for n, f in enumerate(ordered) if f.id == symptom.cause and not f.cause), symptom)
    return ordered


def edits_of(findings: Sequence[Finding]) -> list[Edit]:
    """All edits of some findings, in their order."""
    return [edit for finding in findings for edit in finding.edits if isinstance(edit, Edit)]


def _gain(finding: Finding) -> int:
    return finding.gain.ns if finding.gain is not None else 0


def _root(id: str, causes: Mapping[str, str]) -> str:
    while id in causes:
        id = causes[id]
    return id


def joint(context: Context, findings: Sequence[Finding]) -> Gain | None:
    """The gain of all findings together, replayed once: never their sum. None when no finding has one."""
    counted = [f for f in findings if f.gain is not None and f.edits]
    if not counted:
        return None
    edits = edits_of(counted)
    gains = [f.gain for f in counted if f.gain is not None]
    confidence = max((g.confidence for g in gains), key=("high", "medium", "low").index)
    method = "replay" if all(g.method == "replay" for g in gains) else "model"
    return Gain(max(0, context.gain(edits)), method, confidence, any(g.at_most for g in gains))
