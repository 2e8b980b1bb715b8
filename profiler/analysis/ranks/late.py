"""Rules 58 and 59 over several ranks: whom the others wait for, and what that rank does longer than they do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median
from typing import NamedTuple

from profiler.analysis.judge import severity
from profiler.analysis.ranks.summary import RankSummary
from profiler.analysis.rules import late_rank
from profiler.findings import Finding, Gain

NAME = late_rank.NAME
CAUSE = NAME._replace(id="late-rank-cause", number=59)
RANKS_MIN = 2
LONGER = 0.02  # of a step; a part that exceeds the median by less explains nothing
CLOCK = 0.03  # of the median clock; less is noise of sampling
LITTLE = 0.5  # of the median waiting; ranks that wait alike have none that is late
MOSTLY = 0.5  # of the cost that the excess of a part explains


class Late(NamedTuple):
    """rank: the one the others wait for; cost: what that costs a rank in a step, ns."""

    rank: int
    cost: int
    finding: Finding


def late(ranks: Sequence[RankSummary]) -> Late | None:
    """The rank that holds the others: by their own collectives, else by sums (it communicates least and computes most;
    where only collectives are known, it waits least)."""
    return _by_arrivals(ranks) or _by_sums(ranks) or _by_waits(ranks)


def _by_arrivals(ranks: Sequence[RankSummary]) -> Late | None:
    """Waiting is charged to the rank whose arrival ends it, also to one without a profile; the mean is taken over the others."""
    views = [r for r in ranks if r.exposed_waiting is not None]
    charged: dict[int, int] = {}
    for view in views:
        for seen in view.seen:
            if seen.rank != view.rank:
                charged[seen.rank] = charged.get(seen.rank, 0) + seen.charged
    if not charged:
        return None
    rank = max(charged, key=lambda r: (charged[r], -r))
    others = [v for v in views if any(s.rank == rank != v.rank for s in v.seen)]  # of its groups; the rest never meet it
    cost = charged[rank] // max(1, len(others))
    step = sum(v.step for v in others) // len(others)
    whole = sum(s.charged for v in others for s in v.seen if s.rank != v.rank)
    last = sum(s.last for v in others for s in v.seen if s.rank == rank)
    count = sum(v.collectives for v in others)
    if cost < late_rank.SHARE * step or last < late_rank.LEAST or charged[rank] < late_rank.DOMINANT * whole:
        return None
    gains = [ns // v.steps for v in others for named, ns in v.gains if named == rank]
    facts = {
        "rank": str(rank),
        "cost_ns": cost,
        "waiting_share": charged[rank] / max(1, whole),
        "step_share": cost / step,
        "last_share": last / max(1, count),
        "views": len(others),
        "captured": any(r.rank == rank for r in ranks),
    }
    known = bool(gains)
    won = int(median(gains)) if known else cost
    gain = Gain(won, "replay" if known else "bound", "high" if known else "medium", at_most=not known)
    id = "late-rank-joint" if facts["captured"] else "late-rank-absent"
    return Late(rank, cost, Finding(id, NAME.number, NAME.layer, severity(won, step, gain.confidence), facts, gain))


def _by_sums(ranks: Sequence[RankSummary]) -> Late | None:
    """Smallest communication together with the largest computing or free time of the group; cost = median - smallest."""
    if len(ranks) <= RANKS_MIN or any(r.exposed_waiting is not None or not r.computing for r in ranks):
        return None
    first = min(ranks, key=lambda r: r.communication)
    usual = int(median(r.communication for r in ranks))
    cost = usual - first.communication
    step = sum(r.step for r in ranks) // len(ranks)
    most = {max(ranks, key=lambda r: r.computing).rank, max(ranks, key=lambda r: r.free).rank}
    if cost < late_rank.SHARE * step or first.rank not in most:
        return None
    facts = {
        "rank": str(first.rank),
        "communication_ns": first.communication,
        "median_ns": usual,
        "cost_ns": cost,
    }
    gain = Gain(cost, "bound", "medium", at_most=True)
    finding = Finding("late-rank-sums", NAME.number, NAME.layer, severity(cost, step, "medium"), facts, gain)
    return Late(first.rank, cost, finding)


def _by_waits(ranks: Sequence[RankSummary]) -> Late | None:
    """Where only the sums of collectives are known: the rank that waits least, at most LITTLE of the median; cost: the rest."""
    if len(ranks) <= RANKS_MIN or any(r.exposed_waiting is not None or r.computing or r.waits is None for r in ranks):
        return None
    waits = {r.rank: r.waits or 0 for r in ranks}
    rank = min(waits, key=lambda r: waits[r])
    usual = int(median(waits.values()))
    cost = usual - waits[rank]
    step = sum(r.step for r in ranks) // len(ranks)
    if waits[rank] > LITTLE * usual or cost < late_rank.SHARE * step:
        return None
    facts = {"rank": str(rank), "waiting_ns": waits[rank], "median_ns": usual, "cost_ns": cost}
    gain = Gain(cost, "bound", "medium", at_most=True)
    finding = Finding("late-rank-waits", NAME.number, NAME.layer, severity(cost, step, "medium"), facts, gain)
    return Late(rank, cost, finding)


def cause(ranks: Sequence[RankSummary], found: Late) -> Iterator[Finding]:
    """Fires when the profile of the late rank is there and some part of its step exceeds the median rank's by LONGER of a step:
    computing (by its clock, or its operators), copies, waiting for the host, before or after its work. Silent otherwise: a rank
    without a profile can only be named.

    Gain: set to the median, at most what the others wait.
    """
    own = next((r for r in ranks if r.rank == found.rank), None)
    others = [r for r in ranks if r.rank != found.rank]
    if own is None or not others:
        return
    usual = {n: int(median(r.parts.get(n, 0) for r in others)) for n in own.parts}
    excess = {n: own.parts[n] - usual[n] for n in own.parts}
    part = max(excess, key=lambda n: excess[n])
    step = sum(r.step for r in ranks) // len(ranks)
    if excess[part] < LONGER * step:
        return
    facts: dict[str, object] = {
        "rank": str(own.rank),
        "own_ns": own.parts[part],
        "median_ns": usual[part],
        "excess_ns": excess[part],
        "excess_share": excess[part] / max(1, usual[part]),
    }
    id = CAUSE.id if part == "computing" else f"late-rank-{part}"
    if part == "computing":
        clocks = [r.clock for r in others if r.clock is not None]
        if own.clock is not None and clocks and own.clock < (1 - CLOCK) * median(clocks):
            id = "late-rank-clock"
            facts |= {"clock": own.clock, "median_clock": float(median(clocks))}
        elif own.operators is not None and any(r.operators for r in others):
            facts |= _operator(own, others)
        else:
            id = "late-rank-computes-sums"
    elif part == "host":
        facts["reason"] = _reason(own, others)
    gain = Gain(min(excess[part], found.cost), "bound", "medium", at_most=True)
    yield Finding(id, CAUSE.number, CAUSE.layer, severity(gain.ns, step, "medium"), facts, gain)


def _operator(own: RankSummary, others: Sequence[RankSummary]) -> dict[str, object]:
    """The operator type whose time exceeds the median most, and how many kernels a step has."""
    mine = own.operators or {}
    name = max(mine, key=lambda n: mine[n][0] - median((r.operators or {}).get(n, (0, 0.0))[0] for r in others))
    theirs = [(r.operators or {}).get(name, (0, 0.0)) for r in others]
    return {
        "operator": name,
        "operator_ns": mine[name][0],
        "operator_median_ns": int(median(t for t, _ in theirs)),
        "kernels": round(sum(n for _, n in mine.values())),
        "median_kernels": round(median(sum(n for _, n in (r.operators or {}).values()) for r in others)),
    }


def _reason(own: RankSummary, others: Sequence[RankSummary]) -> str:
    """The reason (view V5) that exceeds the median most."""
    mine = own.host or {}
    return max(mine, key=lambda n: mine[n] - median((r.host or {}).get(n, 0) for r in others), default="user")
