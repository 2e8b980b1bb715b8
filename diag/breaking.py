"""Which of the differences between hosts breaks something: what the checks say of one host and not of another, and the facts
behind it that are not the same there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from diag.check import CHECKS, Check, lacks
from diag.differences import Difference
from diag.seen import Seen
from diag.verdict import INFO, SEVERITIES, Verdict


@dataclass(frozen=True, slots=True)
class Break:
    """bad: hosts (by place) with the verdict; good: those where the same check ran and was content. items: the differences
    behind it, the ones its own words name if there are such."""

    verdict: Verdict
    bad: tuple[int, ...]
    good: tuple[int, ...]
    items: tuple[str, ...]


def breaks(hosts: list[Seen], found: Sequence[Difference]) -> list[Break]:
    """The worst first, otherwise in the order of the checks. A verdict that all hosts share is no difference."""
    made = []
    for check in CHECKS:
        ran = [n for n, seen in enumerate(hosts) if not lacks(check, seen)]
        said = {n: [v for v in check.run(hosts[n]) if v.severity != INFO] for n in ran}
        for one in dict.fromkeys(v.id for n in ran for v in said[n]):
            bad = tuple(n for n in ran if any(v.id == one for v in said[n]))
            good = tuple(n for n in ran if n not in bad)
            if good:
                verdict = next(v for v in said[bad[0]] if v.id == one)
                made.append(Break(verdict, bad, good, _behind(check, verdict, bad, good, found)))
    return sorted(made, key=lambda b: SEVERITIES.index(b.verdict.severity))


def _behind(
    check: Check, verdict: Verdict, bad: tuple[int, ...], good: tuple[int, ...], found: Sequence[Difference]
) -> tuple[str, ...]:
    topics = tuple(f"{about} " for about in check.about)
    candidates = [d for d in found if f"{d.item} ".startswith(topics) and any(apart(d, b, good) for b in bad)]
    words = {str(fact) for fact in verdict.facts.values()} | {word for place in verdict.evidence for word in place.split()}
    named = [d.item for d in candidates if words & {*d.item.split(), *(d.values[bad[0]] or "").split()}]
    return tuple(named or (d.item for d in candidates))


def apart(difference: Difference, host: int, others: tuple[int, ...]) -> bool:
    """Whether a host's value is that of none of the others."""
    return all(difference.values[host] != difference.values[other] for other in others)
