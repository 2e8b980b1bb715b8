"""Sums without rows: what is known of host calls when a source holds their statistic only (trace.meta["tables"])."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from profiler.trace import Trace


@dataclass(frozen=True, slots=True)
class CallSum:
    """All calls of one name: how many, and their time together, ns."""

    name: str
    level: str
    count: int
    total_ns: int


def call_sums(trace: Trace) -> list[CallSum]:
    """The api_statistic of a trace, the longest first; empty where the source has none."""
    table = _table(trace, "api_statistic")
    columns = [table.get(n) for n in ("name", "level", "count", "total")]
    if any(c is None for c in columns):
        return []
    rows = zip(*(c for c in columns if c is not None), strict=True)
    made = [CallSum(str(n), str(v or ""), int(c), int(t)) for n, v, c, t in rows if None not in (n, c, t)]
    return sorted(made, key=lambda s: (-s.total_ns, s.name))


def _table(trace: Trace, name: str) -> dict[str, list[Any]]:
    tables = trace.meta.get("tables", {})
    found = tables.get(name, {}) if isinstance(tables, dict) else {}
    return found if isinstance(found, dict) else {}


@dataclass(frozen=True, slots=True)
class OpSum:
    """All kernels of one operator type on one kind of core, and their time together, ns."""

    op_type: str
    core: str
    count: int
    total_ns: int


@dataclass(frozen=True, slots=True)
class StepSums:
    """The steps of step_trace_time together, ns: computing, exposed (communication that no computation covers, with bubble),
    overlapped, free, and bubble (receives of a pipeline)."""

    steps: int
    computing: int
    exposed: int
    overlapped: int
    free: int
    bubble: int

    @property
    def whole(self) -> int:
        """Computing, exposed communication and free time are the whole step (spec of msprof's files)."""
        return self.computing + self.exposed + self.free


def step_sums(trace: Trace) -> StepSums | None:
    """What step_trace_time holds of one rank; None where the source has none, or the ranks of a whole cluster."""
    table = _table(trace, "step_trace_time")
    steps = len(table.get("computing", []))
    if not steps or any(v is not None for v in table.get("type", [])):
        return None
    names = ("computing", "communication_not_overlapped", "overlapped", "free", "bubble")
    sums = [sum(int(v) for v in table.get(n, []) if isinstance(v, int | float)) for n in names]
    return StepSums(steps, *sums)


def op_sums(trace: Trace) -> list[OpSum]:
    """The op_statistic of a trace, the longest first; empty where the source has none."""
    table = _table(trace, "op_statistic")
    columns = [table.get(n) for n in ("op_type", "core_type", "count", "total")]
    if any(c is None for c in columns):
        return []
    rows = zip(*(c for c in columns if c is not None), strict=True)
    made = [OpSum(str(n), str(core or ""), int(c), int(t)) for n, core, c, t in rows if None not in (n, c, t)]
    return sorted(made, key=lambda s: (-s.total_ns, s.op_type))
