"""What an analysis says: findings with evidence and gain. Plain frozen records; texts are data (profiler/texts/*.toml)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

LAYERS = ("graph", "host", "copy", "operator", "communication")  # the order to look in
SEVERITIES = ("critical", "warning", "note")


class Evidence(NamedTuple):
    """Where to look: a time range (ns on the trace's timeline), rows of a table, the call site if known; stack: its frames, one a
    line and the innermost first, where stacks were recorded."""

    label: str
    start: int
    end: int
    table: str = ""
    rows: tuple[int, ...] = ()
    site: str = ""
    stack: str = ""


@dataclass(frozen=True, slots=True)
class Gain:
    """Recoverable time.

    ns: of the judged window. method: replay (measured costs), model (npu.cost), bound (Amdahl). at_most: an upper bound.
    on_all_ns: the gain when all ranks change alike, None for a single rank.
    """

    ns: int
    method: str
    confidence: str  # high | medium | low
    at_most: bool = False
    on_all_ns: int | None = None


class Setting(NamedTuple):
    """An environment variable that bears on a finding, and its value ("" when it is not set)."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding. `id` names the rule (analysis catalogue), `number` its place there; facts fill the texts of the id.

    edits: what a replay changes for this finding (records of profiler.analysis.edits), so that findings can be joined.
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
    settings: tuple[Setting, ...] = ()  # of the environment, that bear on it
    regardless: bool = False  # said however small its replayed gain: what it counts is worth knowing
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


class Ignored(NamedTuple):
    """What the user told the analysis to leave out: how many ranges, and the time taken out with them, ns."""

    ranges: int = 0
    ns: int = 0


NOTHING_IGNORED = Ignored()


@dataclass(frozen=True, slots=True)
class Change:
    """One change of a what-if. `id` names it as on the command line (no-sync, fuse, pinned, streams, op); facts fill its texts.

    gain: None when the trace holds nothing to change, then `why` says so. limit: the gain if what is changed took no time
    (Amdahl's bound, for single operators). edits: what was replayed.
    """

    id: str
    facts: Mapping[str, object]
    gain: Gain | None
    why: str = ""
    limit: int | None = None
    edits: tuple[object, ...] = field(default=(), repr=False)


@dataclass(frozen=True)
class WhatIf:
    """What changes would gain, each alone and all together (one replay, not a sum). Window, length and steps as in Report."""

    source: str
    window: tuple[int, int]
    steps: int
    changes: tuple[Change, ...]
    joint: Gain | None
    quality: ReplayQuality
    missing: tuple[tuple[str, str], ...] = ()
    meta: Mapping[str, object] = field(default_factory=dict)
    ignored: Ignored = NOTHING_IGNORED

    @property
    def length(self) -> int:
        """Time that was judged, ns: the window without what the user told to ignore in it."""
        return self.window[1] - self.window[0] - self.ignored.ns


class Excess(NamedTuple):
    """What slow iterations spend more on than fast ones, per iteration. kind: call | wait | operator | copy | own_code.
    slow_ns, fast_ns: mean time in a slow and in a fast iteration; slow_count, fast_count: mean occurrences."""

    kind: str
    name: str
    slow_ns: int
    fast_ns: int
    slow_count: float
    fast_count: float
    site: str = ""


@dataclass(frozen=True, slots=True)
class Latency:
    """Time from the beginning of an iteration until all of it is done, ns, by nearest rank over the steady iterations.
    slow: numbers of the iterations that take over half as long again as the median; slow_mean, fast_mean: how long they and
    the shorter half take; excess: the largest first."""

    count: int
    p50: int
    p90: int
    p99: int
    slow: tuple[int, ...]
    slow_mean: int
    fast_mean: int
    excess: tuple[Excess, ...]


class Difference(NamedTuple):
    """One row of a comparison: time and occurrences per step, before (a) and after (b); path: time on the critical path.
    kind: same | slower | faster | new | gone | more | fewer."""

    layer: str
    name: str
    a_ns: int
    b_ns: int
    a_count: float
    b_count: float
    a_path_ns: int
    b_path_ns: int
    kind: str


@dataclass(frozen=True)
class Comparison:
    """Two profiles, per step (steps 0: the whole span). layers: parts of the wall time, whose sums are a_ns and b_ns exactly.
    noise: differences below it count as none; None when too few steps tell. rows: by the size of the difference. sums: both hold
    sums only, without rows in time."""

    a: str
    b: str
    a_steps: int
    b_steps: int
    a_ns: int
    b_ns: int
    noise: int | None
    layers: tuple[Difference, ...]
    rows: tuple[Difference, ...]
    missing: tuple[tuple[str, str], ...] = ()
    sums: bool = False

    @property
    def change(self) -> float:
        """Relative change of the wall time: 0.05 = five percent slower."""
        return (self.b_ns - self.a_ns) / max(1, self.a_ns)

    @property
    def kind(self) -> str:
        """same, slower or faster."""
        difference = self.b_ns - self.a_ns
        if abs(difference) <= (self.noise or 0):
            return "same"
        return "slower" if difference > 0 else "faster"


class Unjudged(NamedTuple):
    """Rules that could not judge: what they need (id of the texts' table `need`), the switch that collects it, their ids."""

    need: str
    switch: str
    rules: tuple[str, ...]


class ModelError(NamedTuple):
    """How far the cost model is off for a family of kernels (0.08 is 8 %), and their share of the judged kernel time.

    median: over the measured kernels it was fitted to; left_out: over those of sources it was not fitted to, None without any.
    """

    family: str
    share: float
    median: float
    left_out: float | None


@dataclass(frozen=True, slots=True)
class View:
    """A table of facts: its id, rows of plain values by column name (units as suffix: _ns, _bytes, _share; None = not known),
    and how many rows there are in all."""

    id: str
    rows: tuple[Mapping[str, object], ...]
    total: int


@dataclass(frozen=True, slots=True)
class Idle:
    """Why a device was idle in the window, ns by reason (view V5), the longest first; host: what waited for the host."""

    device: int
    time: int
    host: int
    reasons: Mapping[str, int]


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
    latency: Latency | None = None  # None: no steady iterations
    idle: tuple[Idle, ...] = ()
    views: tuple[View, ...] = ()  # only when asked for
    unjudged: tuple[Unjudged, ...] = ()
    rows: Mapping[str, int] = field(default_factory=dict)  # of each table of the trace that has any
    model_errors: tuple[ModelError, ...] = ()
    ignored: Ignored = NOTHING_IGNORED

    @property
    def length(self) -> int:
        """Time that was judged, ns: the window without what the user told to ignore in it."""
        return self.window[1] - self.window[0] - self.ignored.ns


@dataclass(frozen=True, slots=True)
class RankRow:
    """One rank of a job, ns of a mean step; None: its profile cannot tell.

    lag_ns: mean time it came behind the others, as these saw it; last_share: collectives in which it came last.
    """

    rank: int
    source: str
    step_ns: int
    computing_ns: int
    communication_ns: int
    transfer_ns: int | None
    waiting_ns: int | None
    host_ns: int | None
    lag_ns: int | None
    last_share: float | None
    breakdown: tuple[Breakdown, ...] = ()


@dataclass(frozen=True)
class JointReport:
    """What several ranks say together.

    step: mean length of a step over the ranks, ns, which gains are shares of. named: ranks the findings name; absent: ranks the
    others wait for whose profiles are not here; failed: (what could not be read, what to do). meetings: at how many operations
    the ranks were joined for the gains on all ranks; 0: these assume that the other ranks change as each rank does.
    """

    step: int
    ranks: tuple[RankRow, ...]
    findings: tuple[Finding, ...]
    named: tuple[int, ...] = ()
    absent: tuple[int, ...] = ()
    failed: tuple[tuple[str, str], ...] = ()
    meetings: int = 0
