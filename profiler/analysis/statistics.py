"""Sums without rows: what is known of host calls when a source holds their statistic only (trace.meta["tables"])."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from profiler.trace import Trace

OUTLIER = 3.0  # times the median (spec of the analyzer, section 5)
OUTLIERS_MOST = 0.2  # of the steps; with more of them they are a mode


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
    overlapped, free, bubble (receives of a pipeline), and preparing (from the begin of a step to its first kernel, before all of
    that)."""

    steps: int
    computing: int
    exposed: int
    overlapped: int
    free: int
    bubble: int
    preparing: int = 0

    @property
    def whole(self) -> int:
        """Computing, exposed communication and free time are the whole step (spec of msprof's files)."""
        return self.computing + self.exposed + self.free


def step_sums(trace: Trace) -> StepSums | None:
    """What step_trace_time holds of one rank, without single steps of over OUTLIER times the median (a checkpoint, a first step);
    None where the source has none, or the ranks of a whole cluster."""
    table = _table(trace, "step_trace_time")
    steps = len(table.get("computing", []))
    if not steps or any(v is not None for v in table.get("type", [])):
        return None
    names = ("computing", "communication_not_overlapped", "overlapped", "free", "bubble", "preparing")
    odd = set(outliers(step_lengths(trace)))
    sums = [
        sum(int(v) for at, v in enumerate(table.get(n, [])) if at not in odd and isinstance(v, int | float)) for n in names
    ]
    return StepSums(steps - len(odd), *sums)


def outliers(lengths: Sequence[int]) -> list[int]:
    """Places of single steps that take over OUTLIER times the median; none where they are more than OUTLIERS_MOST of all."""
    if not lengths:
        return []
    usual = median(lengths)
    slow = [at for at, length in enumerate(lengths) if length > OUTLIER * usual]
    return slow if len(slow) <= max(1, OUTLIERS_MOST * len(lengths)) else []


def step_lengths(trace: Trace) -> list[int]:
    """Length of each step of step_trace_time, ns; empty where the source has none, or the ranks of a whole cluster."""
    table = _table(trace, "step_trace_time")
    if any(v is not None for v in table.get("type", [])):
        return []
    columns = [table.get(n, []) for n in ("computing", "communication_not_overlapped", "free")]
    return [sum(int(v) for v in row if isinstance(v, int | float)) for row in zip(*columns, strict=False)]


def op_sums(trace: Trace) -> list[OpSum]:
    """The op_statistic of a trace, the longest first; empty where the source has none."""
    table = _table(trace, "op_statistic")
    columns = [table.get(n) for n in ("op_type", "core_type", "count", "total")]
    if any(c is None for c in columns):
        return []
    rows = zip(*(c for c in columns if c is not None), strict=True)
    made = [OpSum(str(n), str(core or ""), int(c), int(t)) for n, core, c, t in rows if None not in (n, c, t)]
    return sorted(made, key=lambda s: (-s.total_ns, s.op_type))
