"""The joint report: what summaries of several ranks say together (rules 58, 59, 61 and 67 over ranks)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from statistics import fmean, median, pstdev
from typing import NamedTuple

from profiler.analysis.judge import Name, severity
from profiler.analysis.needs import Need
from profiler.analysis.ranks.late import CAUSE, cause, late
from profiler.analysis.ranks.summary import RankSummary
from profiler.analysis.rules import imbalance, late_rank, slow_link
from profiler.analysis.views.links import Link
from profiler.findings import Finding, Gain, JointReport, RankRow


class JointRule(NamedTuple):
    """A rule that only several ranks together can judge; as profiler.analysis.rules.Rule, but run over summaries."""

    number: int
    id: str
    layer: str
    run: Callable[..., Iterable[Finding]]
    also: tuple[str, ...] = ()
    needs: tuple[Need, ...] = ()


PARTS = ("computes-sums", "clock", "host", "copies", "free", "preparing", "tail")
JOINT = (JointRule(CAUSE.number, CAUSE.id, CAUSE.layer, cause, tuple(f"late-rank-{p}" for p in PARTS)),)
SPREAD = 0.05  # coefficient of variation of computing over ranks (catalogue)
EXPERTS = 1.3  # largest over mean time of expert operators (catalogue)
EXPERT = ("GroupedMatmul", "GroupedMatMul", "MoeGating", "MoeInitRouting", "MoeFinalizeRouting", "MoeComputeExpertTokens")
SHARE = 0.01  # of a step; what costs less stays silent


def joint(summaries: Sequence[RankSummary], failed: Sequence[tuple[str, str]] = ()) -> JointReport:
    """One report of all ranks. A step's length is the mean over the ranks; a rank's times are those of its mean step."""
    ranks = sorted(summaries, key=lambda r: (r.rank, r.source))
    step = max(1, sum(r.step for r in ranks) // max(1, len(ranks)))
    findings = [*_late(ranks), *_slow_links(ranks, step)]
    if not any(f.number == late_rank.NAME.number for f in findings):
        findings += _imbalance(ranks, step)
    causal = (late_rank.NAME.number, CAUSE.number)  # whom the others wait for, then why
    order = sorted(findings, key=lambda f: (f.number not in causal, f.number if f.number in causal else -_worth(f)))
    named = {int(str(f.facts[n])) for f in order for n in ("rank", "src", "most") if n in f.facts}
    here = {r.rank for r in ranks}
    return JointReport(
        step,
        tuple(_row(r, ranks) for r in ranks),
        tuple(order),
        tuple(sorted(named & here)),
        tuple(sorted(named - here)),
        tuple(failed),
    )


def _worth(finding: Finding) -> int:
    return finding.gain.ns if finding.gain is not None else 0


def _late(ranks: Sequence[RankSummary]) -> Iterator[Finding]:
    found = late(ranks)
    if found is not None:
        yield found.finding
        yield from cause(ranks, found)


def _row(own: RankSummary, ranks: Sequence[RankSummary]) -> RankRow:
    seen = [s for r in ranks if r.rank != own.rank for s in r.seen if s.rank == own.rank]
    count = sum(r.collectives for r in ranks if r.rank != own.rank and any(s.rank == own.rank for s in r.seen))
    return RankRow(
        own.rank,
        own.source,
        own.step,
        own.computing,
        own.communication,
        own.exposed_transfer,
        own.exposed_waiting,
        own.parts.get("host"),
        int(fmean(s.lag for s in seen)) if seen else None,
        sum(s.last for s in seen) / count if count else None,
        own.breakdown,
    )


def _slow_links(ranks: Sequence[RankSummary], step: int) -> Iterator[Finding]:
    """Links of all ranks against each other; both ends may have seen one: then it counts once."""
    links: dict[tuple[int, int, str, int], Link] = {}
    for rank in ranks:
        for link in rank.links:
            key = (link.src, link.dst, link.link, link.size_class)
            if key not in links or link.transfers > links[key].transfers:
                links[key] = link
    steps = int(median(r.steps for r in ranks)) if ranks else 1
    for slow in slow_link.slow_links(tuple(links.values())):
        lost = slow.lost // max(1, steps)
        if lost >= SHARE * step:
            gain = Gain(lost, "bound", "medium", at_most=True)
            name = slow_link.NAME
            yield Finding(name.id, name.number, name.layer, severity(lost, step, "medium"), slow_link.facts_of(slow), gain)


def _imbalance(ranks: Sequence[RankSummary], step: int) -> Iterator[Finding]:
    name = imbalance.NAME
    ranks = [r for r in ranks if not r.cut]
    if len(ranks) < 2:
        return
    times = {r.rank: r.computing for r in ranks}
    mean = fmean(times.values())
    most, least = max(times, key=lambda r: times[r]), min(times, key=lambda r: times[r])
    excess = int(times[most] - mean)
    if min(times.values()) and pstdev(times.values()) >= SPREAD * mean and excess >= SHARE * step:
        facts = {
            "least": str(least),
            "least_ns": times[least],
            "most": str(most),
            "most_ns": times[most],
            "spread_share": pstdev(times.values()) / mean,
            "excess_ns": excess,
        }
        yield _found(name._replace(id="imbalance-computing"), facts, excess, step)
    yield from _experts(ranks, step, name)


def _experts(ranks: Sequence[RankSummary], step: int, name: Name) -> Iterator[Finding]:
    types = {n for r in ranks for n in (r.operators or {}) if n.startswith(EXPERT)}
    for operator in sorted(types):
        times = {r.rank: (r.operators or {}).get(operator, (0, 0.0))[0] for r in ranks}
        mean = fmean(times.values())
        most = max(times, key=lambda r: times[r])
        excess = int(times[most] - mean)
        if times[most] >= EXPERTS * mean and excess >= SHARE * step:
            facts = {
                "operator": operator,
                "most": str(most),
                "most_ns": times[most],
                "mean_ns": int(mean),
                "ratio": times[most] / mean,
            }
            yield _found(name._replace(id="imbalance-experts"), facts, excess, step)


def _found(name: Name, facts: dict[str, object], ns: int, step: int) -> Finding:
    gain = Gain(ns, "bound", "medium", at_most=True)
    return Finding(name.id, name.number, name.layer, severity(ns, step, "medium"), facts, gain)
