"""Steps with one planted cause in their communication: it is found first, and its gain is what the cured steps really gain."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from npu.units import KIB, MIB, US
from profiler.analysis import analyze
from tests.unit.profiler.exchange import Steps

PEERS: dict[int, float] = {1: 0, 2: 0, 3: 0}


def steps(each: Callable[[Steps, int], None], count: int = 8) -> Steps:
    made = Steps()
    for number in range(count):
        each(made, number)
        made.mark()
    return made


def late(lag: float) -> Steps:
    return steps(lambda s, _: (s.kernel(800), s.collective(PEERS | {2: lag}, 30), None)[-1])


def turns(lag: float) -> Steps:
    return steps(lambda s, n: (s.kernel(800), s.collective(PEERS | {1 + n % 3: lag}, 30), None)[-1])


def link(times: float) -> Steps:
    return steps(lambda s, _: (s.kernel(800), s.collective(PEERS, 60, speed={3: times}), None)[-1])


def staging(local: float) -> Steps:
    return steps(lambda s, n: (s.kernel(800), s.collective(PEERS, 15, local=local if n % 2 else 0), None)[-1])


def network(longest: float) -> Steps:
    return steps(lambda s, n: (s.kernel(800), s.collective({1: 0}, longest if n == 5 else 900, transport="RDMA"), None)[-1])


def small(packet: float) -> Steps:
    def each(made: Steps, _: int) -> None:
        made.kernel(4000)
        made.collective({1: 0}, 1000, size=32 * MIB)
        for _ in range(8):
            made.collective({2: 0}, packet, size=MIB)

    return steps(each)


def frequent(count: int) -> Steps:
    """120 small gradients a step in as many exchanges of 20, each of which costs nearly all of it whatever it carries."""

    def each(made: Steps, _: int) -> None:
        made.kernel(2000)
        for number in range(count):
            made.collective(PEERS, 20, size=(512 if number == 0 else 8) * KIB)

    return steps(each)


PLANTED = [
    ("late-rank", late(300), late(0)),
    ("late-rank", late(900), late(0)),
    ("imbalance", turns(200), turns(0)),
    ("imbalance", turns(500), turns(0)),
    ("slow-link", link(2), link(1)),
    ("slow-link", link(4), link(1)),
    ("staging-copy", staging(160), staging(0)),
    ("staging-copy", staging(400), staging(0)),
    ("retransmission", network(4_300_000), network(900)),
    ("retransmission", network(1_200_000), network(900)),
    ("small-packets", small(400), small(31.25)),
    ("frequent-collectives", frequent(120), frequent(1)),
]


@pytest.mark.parametrize(("rule", "slow", "fast"), PLANTED)
def test_a_planted_cause_is_first_and_worth_what_its_cure_gains(rule: str, slow: Steps, fast: Steps) -> None:
    first = analyze(slow.made.trace()).findings[0]
    assert first.id == rule
    assert first.gain is not None
    assert first.gain.ns / US == pytest.approx(slow.now - fast.now, rel=0.1)


@pytest.mark.parametrize("compute", [400, 2000])
@pytest.mark.parametrize("transfer", [5, 10])
@pytest.mark.parametrize("lag", [0, 1, 8])
def test_clean_exchanges_say_nothing_about_communication(compute: float, transfer: float, lag: float) -> None:
    def each(made: Steps, number: int) -> None:
        made.kernel(compute)
        made.collective(PEERS | {1 + number % 3: lag}, transfer)

    report = analyze(steps(each).made.trace())
    assert [f.id for f in report.findings if f.layer == "communication"] == []
    assert report.checklist[-1].state == "fine"
