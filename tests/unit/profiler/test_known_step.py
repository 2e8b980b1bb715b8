"""A real training step (tests/data/known_step, rank 0 of 8): the figures worked out from its files, and what the rules say."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from profiler import intervals
from profiler.analysis import gaps
from profiler.analysis.context import Context
from profiler.analysis.run import report
from profiler.analysis.views.gap_classes import gap_classes
from profiler.analysis.views.gap_floor import Floor
from profiler.findings import Report
from profiler.read import open_trace

STEP = Path(__file__).parents[2] / "data" / "known_step"
MS = 1e6


@cache
def context() -> Context:
    return Context(open_trace(STEP))


@cache
def made() -> Report:
    return report(open_trace(STEP), all_findings=True)


def test_inside_the_collectives() -> None:
    """105.99 ms = 4.00 transfer + 101.77 waiting + 0.22 other; uncovered 3.88 + 97.98 + 0.10 = the 101.96 of the file."""
    found, split = context().collectives, context().views.exposed[0]
    assert split is not None
    assert (split.transfer / MS, split.waiting / MS, split.other / MS) == pytest.approx((4.00, 101.77, 0.22), abs=0.005)
    assert (split.exposed_transfer / MS, split.exposed_waiting / MS) == pytest.approx((3.88, 97.98), abs=0.005)
    assert split.exposed_other / MS == pytest.approx(0.10, abs=0.01)
    assert found.transfer.sum() + found.waiting.sum() + found.other.sum() == split.transfer + split.waiting + split.other
    assert sorted(found.last.tolist()) == [0, 5, 5, 5]


def test_who_was_late() -> None:
    peers = {p.rank: p for p in context().views.peers}
    assert peers[5].charged_ns / MS == pytest.approx(101.71, abs=0.005)
    assert sum(p.charged_ns for r, p in peers.items() if r != 5) / MS == pytest.approx(0.06, abs=0.01)
    found = context().collectives
    start = context().trace.comm["start"][found.row]
    first = int(start.argmin())
    lags = {int(p): int(lag) / MS for o, p, lag in zip(found.pair_op, found.pair_peer, found.pair_lag, strict=True) if o == first}
    assert {p: round(lag, 2) for p, lag in lags.items()} == {1: 5.62, 2: 0, 3: 0, 4: 4.69, 5: 78.78, 6: 0, 7: 0.03}


def test_the_gap_floor_is_what_collection_costs() -> None:
    """163 pairs of kernels with a launch; 108 to 110 of them were queued (by which end of the launch counts)."""
    floor = context().views.floors[0]
    assert (floor.pairs, floor.queued) == (163, 110)
    assert (floor.ns or 0) / 1000 == pytest.approx(88.0, abs=0.05)
    assert (floor.half / 1000, floor.high / 1000) == pytest.approx((92.0, 102.8), abs=0.2)
    assert 14.0 <= floor.cost / MS <= floor.most / MS <= 16.0
    assert floor.collecting


def test_why_the_device_was_idle_inside_its_stage() -> None:
    """Free 25.74 = copies 0.01 + host late 20.3 (compile 2.73) + device 5.43, before collection is told apart."""
    step = context().breakdown[0]
    assert step.preparing is not None
    first = context().window[0] + step.preparing
    idle = gaps.idle(context().trace, context().launches, 0, (first, first + step.stage))
    found = gap_classes(context().trace, context().launches, idle, 0, Floor(None, 0, 0, 0, 0, 0, 0))
    assert found.total() == step.idle == intervals.length((idle.starts, idle.ends))
    assert found.host / MS == pytest.approx(20.3, abs=0.15)
    assert found.total("compile") / MS == pytest.approx(2.73, abs=0.1)
    assert found.total("event", "dispatch", "unexplained") / MS == pytest.approx(5.43, abs=0.15)
    collected = gap_classes(context().trace, context().launches, idle, 0, context().views.floors[0])
    assert collected.total() == found.total()
    assert collected.total("collection") > 0.9 * found.total("dispatch", "unexplained")


def test_all_bytes_of_the_links() -> None:
    """Seven peers over HCCS at about 13 GB/s for 2 MiB and 17 for 18 MiB, none of them slow."""
    links = context().views.links
    assert {link.dst for link in links} == {1, 2, 3, 4, 5, 6, 7}
    assert min(link.ratio for link in links) > 0.95


def test_what_the_rules_say() -> None:
    said = {f.id: f for f in made().findings}
    assert said["capture-overhead"].facts["floor_ns"] == pytest.approx(88_000, abs=50)
    compiles, layout = said["online-compile"], said["layout-storm"]
    assert (compiles.facts["count"], compiles.facts["call"]) == (19, "aclopCompileAndExecute")
    assert compiles.facts["total_ns"] == pytest.approx(14.05 * MS, abs=0.005 * MS)
    assert compiles.facts["uncovered_ns"] == pytest.approx(11.65 * MS, abs=0.02 * MS)
    assert compiles.gain is not None and compiles.gain.on_all_ns is not None
    assert compiles.gain.ns < 0.1 * MS
    assert compiles.gain.ns <= compiles.gain.on_all_ns <= 11.65 * MS
    assert compiles.regardless and layout.regardless
    assert (layout.facts["top"], layout.facts["top_count"]) == ("TransData", 57)
    assert layout.facts["top_ns"] == pytest.approx(1.42 * MS, abs=0.005 * MS)
    assert not {"first-step-compile", "missing-gears", "dynamic-fallback", "no-steady-state"} & set(said)


def test_the_report_names_the_host() -> None:
    (idle,) = made().idle
    assert idle.host > 0.5 * idle.time
    assert next(iter(idle.reasons)) == "framework"
