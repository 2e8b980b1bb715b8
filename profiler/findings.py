"""What an analysis says: findings with evidence and gain. Plain frozen records; texts are data (profiler/texts/*.toml)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

LAYERS = ("graph", "host", "copy", "operator", "communication")  # the order to look in
SEVERITIES = ("critical", "warning", "note")


class Evidence(NamedTuple):
    """Where to look: a time range (ns on the trace's timeline), rows of a table, the call site if known."""

    label: str
    start: int
    end: int
    table: str = ""
    rows: tuple[int, ...] = ()
    site: str = ""


@dataclass(frozen=True, slots=True)
class Gain:
    """Recoverable time.

    ns: of the judged window. method: replay (measured costs), model (npu.cost), bound (Amdahl). at_most: an upper bound.
    alone: True when only this rank gains; on_all_ns: the gain when all ranks change alike, None for a single rank.
    """

    ns: int
    method: str
    confidence: str  # high | medium | low
    at_most: bool = False
    on_all_ns: int | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding. `id` names the rule (analysis catalogue), `number` its place there; facts fill the texts of the id.

    edits: what a what-if replays for this finding (profiler.analysis.replay edits), so that findings can be joined.
    """

    id: str
    number: int
    layer: str
    severity: str
    facts: Mapping[str, object]
    gain: Gain | None
    evidence: tuple[Evidence, ...] = ()
    sites: tuple[str, ...] = ()
    cause: str = ""  # id of the finding that explains this one
    edits: tuple[object, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Checked:
    """One line of the checklist: a layer is fine, has findings, or was not measured and why."""

    layer: str
    state: str  # fine | findings | not_measured
    count: int = 0
    ns: int = 0
    why: str = ""
    switch: str = ""  # how to measure it


@dataclass(frozen=True, slots=True)
class Breakdown:
    """Where one device's time went in one step (view V3), ns. None = not measurable from this source.

    stage = computing + communication_not_overlapped + free. Copies and idle split free; wall = preparing + stage + tail.
    """

    rank: int
    device: int
    step: int
    stage: int
    computing: int
    communication: int
    overlapped: int
    communication_not_overlapped: int
    free: int
    copies: int
    copies_hidden: int
    idle: int
    aicpu: int
    preparing: int | None = None
    tail: int | None = None
    bubble: int = 0


@dataclass(frozen=True, slots=True)
class ReplayQuality:
    """How far a replay of this trace can be trusted: the measured window, the same window replayed with class-median
    costs, and the share of the critical path that the dependency edges explain (0..1)."""

    measured: int
    modelled: int
    explained: float


@dataclass(frozen=True)
class Report:
    """All an analysis says of one trace; every report form (terminal, HTML, JSON) shows these facts and no others.

    window: the judged time range (ns on the trace's timeline) and per_step: how many steps it holds (0 = no steps found,
    whole span judged). findings: by recoverable time. joint: the gain of all findings together, replayed once (not the sum).
    """

    source: str
    window: tuple[int, int]
    steps: int
    findings: list[Finding]
    checklist: tuple[Checked, ...]
    breakdown: tuple[Breakdown, ...] = ()
    joint: Gain | None = None
    quality: ReplayQuality | None = None
    missing: tuple[tuple[str, str], ...] = ()
    meta: Mapping[str, object] = field(default_factory=dict)
