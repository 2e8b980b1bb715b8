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
