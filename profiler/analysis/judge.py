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
SAME_COST = (
    ("pageable-copy", "blocking-copy"),
    ("pageable-copy", "small-copies"),
    ("copy-exposed", "pageable-copy"),
    ("blocking-copy", "copy-exposed"),
    ("small-copies", "copy-exposed"),
    ("small-copies", "blocking-copy"),
    ("pageable-copy", "copy-slow"),
    ("copy-exposed", "preprocess-on-device"),
    ("copy-exposed", "one-stream"),
    ("device-wide-sync", "sync-every-submit"),
    ("post-process-serial", "host-preprocess"),
    ("host-preprocess", "sync-every-submit"),
    ("post-process-serial", "sync-every-submit"),
    ("api-outliers", "thread-contention"),
    ("block-tail", "scalar-bound"),
    ("block-tail", "no-overlap-in-kernel"),
    ("unfused-pattern", "bandwidth-bound"),
    ("small-kernel-chain", "bandwidth-bound"),
    ("per-tensor-optimizer", "bandwidth-bound"),
    ("fp64-int64-vector", "substitutable-op"),
    ("small-packets", "frequent-collectives"),
)


# Waiting inside collectives is no gap between kernels: collection does not put it in doubt, so it may stand first.
MEASURED_INSIDE = ("late-rank", "late-rank-cause", "imbalance")
# Results are wrong: said before everything that is about time.
WRONG = ("unordered-access", "access-before-wait", "buffer-changed-in-flight", "unwritten-memory")
IDLE_IN_GENERAL = "device-idle-host"  # said only where no other finding tells why
CAPTURE = "capture"  # layer of the findings about the capture itself; it has no line in the checklist


# What makes a host late for a reason of its own: the host is no slow launcher then.
LAUNCH_CAUSES = (
    "online-compile",
    "single-op-mode",
    "dynamic-fallback",
    "sync-every-submit",
    "device-wide-sync",
    "implicit-sync",
    "host-preprocess",
    "input-starved",
    "python-gc",
    "create-destroy-in-loop",
    "thread-contention",
    "api-outliers",
    "post-process-serial",
    "alloc-in-loop",
    "blocking-copy",
    "pageable-copy",
)

# What else keeps the device idle between longer pieces of work.
IDLE_CAUSES = (
    "shape-churn",
    "step-start-stall",
    "preprocess-on-device",
    "copy-exposed",
    "small-copies",
    "repeated-upload",
    "ping-pong",
    "sync-memset",
    "host-sync-around-collective",
    "one-stream",
    "false-dependency",
)

# Findings that explain others: where the cause is worth half of the symptom or more, the symptom points to it.
CAUSES = (
    ("shape-churn", "online-compile"),
    ("dynamic-fallback", "single-op-mode"),
    ("missing-gears", "single-op-mode"),
    ("graph-replay-miss", "single-op-mode"),
    ("single-op-mode", "small-kernel-chain"),
    ("unfused-pattern", "small-kernel-chain"),
    ("per-tensor-optimizer", "small-kernel-chain"),
    ("weight-layout-each-call", "layout-storm"),
    ("per-tensor-optimizer", "single-op-mode"),
    ("repeated-upload", "copy-exposed"),
    ("repeated-upload", "blocking-copy"),
    ("repeated-upload", "pageable-copy"),
    ("ping-pong", "implicit-sync"),
    ("ping-pong", "blocking-copy"),
    ("ping-pong", "copy-exposed"),
    ("ping-pong", "post-process-serial"),
    ("ping-pong", "pageable-copy"),
    ("unaligned-copy", "copy-slow"),
    ("copy-slow", "copy-exposed"),
    ("copy-slow", "blocking-copy"),
    ("host-preprocess", "preprocess-on-device"),
    ("input-starved", "step-start-stall"),
    ("host-preprocess", "step-start-stall"),
    ("python-gc", "step-start-stall"),
    ("implicit-sync", "step-start-stall"),
    ("implicit-sync", "sync-every-submit"),
    ("implicit-sync", "pageable-copy"),
    ("implicit-sync", "blocking-copy"),
    ("post-process-serial", "step-start-stall"),
    ("blocking-copy", "step-start-stall"),
    ("pageable-copy", "step-start-stall"),
    ("small-copies", "step-start-stall"),
    ("late-rank-in-sums", "exposed-communication-unsplit"),
    ("create-destroy-in-loop", "alloc-in-loop"),
    ("memory-trouble", "alloc-in-loop"),
    ("aicpu-on-path", "cast-storm"),
    ("unaligned-axis", "low-cube-use"),
    ("block-tail", "low-cube-use"),
    ("full-precision-cube", "low-cube-use"),
    ("l2-misses", "low-cube-use"),
    ("launch-bound", "memory-headroom"),
    ("host-sync-around-collective", "sync-every-submit"),
    ("host-sync-around-collective", "device-wide-sync"),
    ("frequent-collectives", "exposed-communication"),
    *((cause, "collective-below-model") for cause in ("slow-link", "staging-copy", "retransmission", "small-packets")),
    ("pipeline-bubble", "exposed-communication"),
    ("small-packets", "exposed-communication"),
    ("slow-link", "exposed-communication"),
    ("retransmission", "exposed-communication"),
    ("collective-below-model", "exposed-communication"),
    *((cause, "launch-bound") for cause in LAUNCH_CAUSES),
    *((cause, IDLE_IN_GENERAL) for cause in (*LAUNCH_CAUSES, *IDLE_CAUSES)),
)
EXPLAINS = 0.5
EXPLAINS_IDLE = 0.1  # of what is said of idle time in general; anything more exact is the better word
# The same, however large the symptom's gain: it is what a wider cure of the same cause would bring at most.
WIDER = frozenset({("host-preprocess", "preprocess-on-device")})


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
    """A finding whose gain is that of its edits, replayed alone; where other ranks hold collectives, also with all ranks edited
    alike. Its severity is that of the larger one."""
    gain = max(0, context.gain(edits))
    alike = max(gain, context.gain(edits, alike=True)) if context.held else None
    return Finding(
        name.id,
        name.number,
        name.layer,
        severity(gain if alike is None else alike, context.length, confidence),
        facts,
        Gain(gain, method, confidence, at_most, alike),
        evidence,
        sites,
        edits=tuple(edits),
    )


def at_most(context: Context, name: Name, facts: Mapping[str, object], ns: int) -> Finding:
    """A finding from sums without rows in time: nothing can be replayed, so what they sum to is the bound."""
    known = context.length > 1
    level = severity(ns, context.length, "low") if known else "warning"
    return Finding(name.id, name.number, name.layer, level, facts, Gain(ns, "bound", "low", at_most=True))


def bounded(context: Context, name: Name, facts: Mapping[str, object], ns: int, sites: tuple[str, ...] = ()) -> Finding:
    """A finding whose cure no replay can show, because the profile lacks the links it would change: what it can be at most."""
    gain = Gain(ns, "bound", "low", at_most=True)
    return Finding(name.id, name.number, name.layer, severity(ns, context.length, "low"), facts, gain, sites=sites)


def severity(ns: int, window: int, confidence: str) -> str:
    """critical, warning or note by the share of the window; a finding of low confidence is at most a warning."""
    if ns >= CRITICAL * window and confidence != "low":
        return "critical"
    return "warning" if ns >= WARNING * window else "note"


def speaks(finding: Finding, context: Context) -> bool:
    """False for findings below the note level, which only a full listing shows. One without gain speaks by its rule alone."""
    if finding.gain is None or finding.regardless:
        return True
    worth = weight(finding)
    return worth >= WARNING * context.length or (worth >= NOTE * context.length and worth >= NOTE_NS * context.count)


def settled(findings: Sequence[Finding]) -> list[Finding]:
    """Findings by gain; of two that see the same cost the smaller one points to the larger and follows it without a gain, or is
    not said at all where it only speaks in general."""
    total: dict[str, int] = {}
    for finding in findings:
        total[finding.id] = total.get(finding.id, 0) + weight(finding)
    causes: dict[str, str] = {}
    for explains, explained in CAUSES:
        both = explains in total and explained in total and explained not in causes
        share = EXPLAINS_IDLE if explained == IDLE_IN_GENERAL else EXPLAINS
        if both and (total[explains] >= share * total[explained] or (explains, explained) in WIDER):
            causes[explained] = explains
    for pair in SAME_COST:
        if all(id in total and id not in causes for id in pair):
            small, large = sorted(pair, key=lambda id: total[id])
            causes[small] = large
    ordered = sorted((f for f in findings if f.id not in causes), key=_place)
    follow = [f for f in findings if f.id in causes and f.id != IDLE_IN_GENERAL]
    symptoms = [replace(f, cause=_root(f.id, causes), gain=None, edits=()) for f in follow]
    for symptom in sorted(symptoms, key=lambda f: -f.number):
        ordered.insert(1 + max(n for n, f in enumerate(ordered) if f.id == symptom.cause and not f.cause), symptom)
    return ordered


def edits_of(findings: Sequence[Finding]) -> list[Edit]:
    """All edits of some findings, in their order."""
    return [edit for finding in findings for edit in finding.edits if isinstance(edit, Edit)]


def weight(finding: Finding) -> int:
    """What a finding is worth, ns: its gain, of two the larger one; 0 without."""
    if finding.gain is None:
        return 0
    return max(finding.gain.ns, finding.gain.on_all_ns or 0)


def _place(finding: Finding) -> tuple[int, int, int]:
    """Order: what is certain and critical all the same, what puts the capture itself in doubt, then by worth."""
    certain = finding.id in WRONG or (finding.id in MEASURED_INSIDE and finding.severity == "critical")
    doubt = finding.layer == CAPTURE and finding.severity != "note"
    return 0 if certain else 1 if doubt else 2, -weight(finding), finding.number


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
    here = max(0, context.gain(edits))
    alike = max(here, context.gain(edits, alike=True)) if context.held else None
    return Gain(here, method, confidence, any(g.at_most for g in gains), alike)
