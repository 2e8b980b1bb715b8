"""What the joint report needs to know of one rank: sums, a few kilobytes however long its profile is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from profiler.analysis.context import Context
from profiler.analysis.rules.collectives import exchanges, exposed
from profiler.analysis.rules.slow_link import links_in_sums
from profiler.analysis.views.gap_classes import HOST
from profiler.analysis.views.links import Link
from profiler.findings import Breakdown, Report
from profiler.trace import Trace

OPERATORS_MOST = 40  # by time; the rest cannot be what makes a rank late


class Seen(NamedTuple):
    """Another rank (or the own one) as a rank saw it arrive, per step: time waited that ended with it, its mean lag, both ns;
    last: collectives in which it came last, of all judged ones."""

    rank: int
    charged: int
    lag: int
    last: int


@dataclass(frozen=True, slots=True)
class RankSummary:
    """Times are ns of a mean step (without steps: of the whole span). None: this rank's profile cannot tell.

    stage, computing, communication, free: view V3. parts: time by what may make a rank late (computing, copies, waiting for the
    host, the rest of the idle time, before and after the work of a step). host: by reason (view V5). operators: (time, kernels)
    of a step by type. seen: arrivals. gains: what rule 58 says is won here, whole window, by the rank it names. sums: made from
    a file of sums, without rows in time. waits: what communication.json says collectives waited for other ranks. cut: its file
    ends in the middle, so its times are not those of the others.
    """

    rank: int
    source: str
    steps: int
    step: int
    stage: int
    computing: int
    communication: int
    free: int
    parts: dict[str, int]
    exposed_transfer: int | None = None
    exposed_waiting: int | None = None
    host: dict[str, int] | None = None
    operators: dict[str, tuple[int, float]] | None = None
    clock: float | None = None
    collectives: int = 0
    seen: tuple[Seen, ...] = ()
    gains: tuple[tuple[int, int], ...] = ()
    links: tuple[Link, ...] = ()
    breakdown: tuple[Breakdown, ...] = ()
    sums: bool = False
    waits: int | None = None
    cut: bool = False


def summarise(context: Context, report: Report) -> RankSummary | None:
    """The summary of a rank with rows in time; None where neither device work nor a rank is known."""
    rank, records = context.trace.meta.get("rank"), context.breakdown
    if not isinstance(rank, int) or not records:
        return None
    count = max(1, len({r.step for r in records}))
    split = exposed(context) if context.trace.comm else None
    known = split is not None and split.known
    host: dict[str, int] = {}
    for gaps in context.views.gaps.values():
        for name, ns in gaps.by_class().items():
            host[name] = host.get(name, 0) + ns // count
    late = sum(ns for name, ns in host.items() if name in HOST)
    mean = {n: sum(int(getattr(r, n) or 0) for r in records) // count for n in MEANS}
    return RankSummary(
        rank=rank,
        source=str(context.trace.source),
        steps=count,
        step=context.length // context.count,
        stage=mean["stage"],
        computing=mean["computing"],
        communication=mean["communication"],
        free=mean["free"],
        parts={
            "computing": mean["computing"],
            "copies": mean["copies"],
            "host": late,
            "preparing": mean["preparing"],
            "tail": None if mean["tail"] is None else max(0, mean["tail"]),  # below 0 its work goes on behind the step's mark
        },
        exposed_transfer=split.transfer // count if split is not None and known else None,
        exposed_waiting=split.waiting // count if split is not None and known else None,
        host=host,
        operators=_operators(context, count),
        clock=_clock(context),
        collectives=int(exchanges(context).known.sum()),
        seen=_seen(context, count),
        gains=tuple(
            (int(str(f.facts["rank"])), f.gain.ns) for f in report.findings if f.id == "late-rank" and f.gain is not None
        ),
        links=context.views.links or tuple(links_in_sums(context.trace.meta.get("tables", {}))),
        waits=_waits(context, count),
        breakdown=records,
        cut=bool(context.trace.meta.get("cut")),
    )


def _waits(context: Context, count: int) -> int | None:
    values = context.trace.meta.get("tables", {}).get("communication", {}).get("wait", [])
    known = [int(v) for v in values if isinstance(v, int | float)]
    return sum(known) // count if known else None


MEANS = ("stage", "computing", "communication", "free", "copies", "preparing", "tail")


def _operators(context: Context, count: int) -> dict[str, tuple[int, float]] | None:
    task, rows = context.trace.task, context.basis.kernels()
    if "op_type" not in task or not len(rows):
        return None
    names, place = np.unique(task["op_type"][rows], return_inverse=True)
    time = np.bincount(place, context.basis.durations(rows))
    times = np.bincount(place)
    order = np.argsort(-time, kind="stable")[:OPERATORS_MOST]
    return {context.trace.strings[int(names[i])]: (int(time[i] / count), float(times[i] / count)) for i in order.tolist()}


def _clock(context: Context) -> float | None:
    """Mean core clock while kernels ran, MHz, weighted by time."""
    found = context.views.clocks
    time = sum(c.time_ns for c in found)
    return sum(c.mhz * c.time_ns for c in found) / time if time else None


def _seen(context: Context, count: int) -> tuple[Seen, ...]:
    return tuple(Seen(p.rank, p.charged_ns // count, p.mean_lag_ns, p.last) for p in context.views.peers)


def from_sums(trace: Trace) -> list[RankSummary]:
    """Ranks of step_trace_time: the one of a profile without rows in time, or all of a cluster's table."""
    table = trace.meta.get("tables", {}).get("step_trace_time", {})
    size = len(table.get("computing", []))
    own = trace.meta.get("rank")
    kinds, index = table.get("type", [None] * size), table.get("index", [None] * size)
    rows: dict[int, list[int]] = {}
    for row in range(size):
        rank = index[row] if kinds[row] is not None else own
        rank = int(rank) if isinstance(rank, str) and rank.isdigit() else rank
        if isinstance(rank, int) and kinds[row] in (None, "rank"):
            rows.setdefault(rank, []).append(row)
    links = tuple(links_in_sums(trace.meta.get("tables", {})))
    made = [_from_rows(trace, table, rank, chosen) for rank, chosen in sorted(rows.items())]
    found = [m for m in made if m is not None]
    return [*_with_links(found[:1], links), *found[1:]]


def _with_links(first: list[RankSummary], links: tuple[Link, ...]) -> list[RankSummary]:
    from dataclasses import replace

    return [replace(s, links=links) for s in first]


def _from_rows(trace: Trace, table: dict[str, list[object]], rank: int, rows: list[int]) -> RankSummary | None:
    def mean(name: str) -> int | None:
        values = [v for v in (table.get(name, [None] * (rows[-1] + 1))[r] for r in rows) if isinstance(v, (int, float))]
        return int(sum(values) / len(values)) if values else None

    stage, computing, communication, free = (mean(n) for n in ("stage", "computing", "communication", "free"))
    if computing is None or communication is None:
        return None
    preparing = mean("preparing") or 0
    whole = stage if stage is not None else computing + (mean("communication_not_overlapped") or 0) + (free or 0)
    return RankSummary(
        rank,
        str(trace.source),
        len(rows),
        whole + preparing,
        whole,
        computing,
        communication,
        free or 0,
        {"computing": computing, "free": free or 0, "preparing": preparing},
        sums=True,
    )
