"""Rules 1 to 3: the capture itself. Times in us."""

from __future__ import annotations

import pytest

from tests.made import Made
from tests.unit.profiler.eager import Eager
from tests.unit.profiler.said import loud, said


def queued(gap: float, count: int = 40, ahead: float = 200) -> Made:
    """Kernels of 50, launched `ahead` before the one before them ends, `gap` apart."""
    made = Made()
    at = 1000.0
    for number in range(count):
        made.api("launch", at - ahead - gap - 1, at - ahead - gap, level="node", correlation=number)
        made.task("kernel", at, at + 50, correlation=number)
        at += 50 + gap
    return made


class TestCaptureOverhead:
    def test_positive(self) -> None:
        """39 pairs with a gap of 88 each."""
        (finding,) = loud(queued(88), "capture-overhead")
        assert (finding.facts["floor_ns"], finding.facts["pairs"], finding.facts["queued"]) == (88_000, 39, 39)
        assert finding.facts["cost_ns"] == finding.facts["most_ns"] == 39 * 88_000
        assert (finding.severity, finding.gain) == ("critical", None)

    def test_near_miss_a_gap_of_twenty(self) -> None:
        assert said(queued(20), "capture-overhead") == []

    def test_near_miss_not_queued(self) -> None:
        assert said(queued(88, ahead=50), "capture-overhead") == []

    def test_near_miss_nineteen_pairs_tell_nothing(self) -> None:
        assert said(queued(88, count=20), "capture-overhead") == []
        assert len(said(queued(88, count=21), "capture-overhead")) == 1

    def test_heavy_switches_and_slow_launches(self) -> None:
        made = queued(1)
        made.meta["collection"] = {"l2_cache": True, "with_stack": True}
        assert said(made, "capture-overhead") == []
        for row in made.rows["api"]:
            row["start"] = int(str(row["end"])) - 11_000
        (finding,) = said(made, "capture-overhead")
        assert (finding.id, finding.severity, finding.facts["switches"]) == ("capture-heavy", "note", "l2_cache, with_stack")


def lost(first_with_rows: int, steps: int = 10) -> Made:
    """One launch a step; the first steps have no device row."""
    made = Made()
    for step in range(steps):
        made.marker("step", f"ProfilerStep#{step + 8}", step * 1000, step * 1000 + 1000)
        made.api("launch", step * 1000 + 100, step * 1000 + 103, level="node", correlation=step)
        if step >= first_with_rows:
            made.task("kernel", step * 1000 + 105, step * 1000 + 200, correlation=step, op_type="MatMulV2")
    return made


class TestCaptureIncomplete:
    def test_positive(self) -> None:
        (finding,) = loud(lost(2), "capture-incomplete")
        assert (finding.facts["launched"], finding.facts["kernels"], finding.facts["lost"]) == (10, 8, 2)
        assert (finding.facts["steps"], finding.facts["names"], finding.severity) == ("8, 9", "MatMulV2", "warning")

    def test_clean(self) -> None:
        assert said(lost(0), "capture-incomplete") == []

    def test_near_miss_calls_that_never_launch(self) -> None:
        made = lost(0)
        for step in range(10):
            made.api("MatMul_Tiling", step * 1000 + 50, step * 1000 + 60, level="node", correlation=900 + step)
        assert said(made, "capture-incomplete") == []

    def test_rows_the_recorder_dropped(self) -> None:
        made = lost(0)
        made.meta["lost"] = {"task": 5, "api": 2}
        (finding,) = said(made, "capture-incomplete")
        assert (finding.id, finding.facts["dropped"]) == ("capture-dropped", 7)


def steps_of(*lengths: float) -> Made:
    made = Made()
    at = 0.0
    for number, length in enumerate(lengths):
        made.marker("step", f"ProfilerStep#{number}", at, at + length)
        made.api("launch", at + 1, at + 4, level="node", correlation=number)
        made.api("aclrtSynchronizeStream", at + 5, at + length - 1, stream=1, blocking=1)
        made.task("kernel", at + 3, at + length - 1, correlation=number)
        at += length
    return made


class TestNoSteadyState:
    def test_two_steps_are_too_few(self) -> None:
        (finding,) = loud(steps_of(100, 101), "no-steady-state")
        assert (finding.id, finding.facts["steps"], finding.facts["steady"]) == ("no-steady-state", 2, 2)

    def test_one_step_is_a_program_without_repetition(self) -> None:
        assert said(steps_of(100), "no-steady-state") == []

    def test_clean(self) -> None:
        assert said(steps_of(*[100, 102, 99, 101] * 5), "no-steady-state") == []

    def test_two_modes(self) -> None:
        (finding,) = said(steps_of(*[100, 101, 160, 161] * 5), "no-steady-state")
        assert (finding.id, finding.facts["low"], finding.facts["high"]) == ("step-modes", 10, 10)
        assert (finding.facts["low_ns"], finding.facts["high_ns"]) == (100_500, 160_500)

    def test_near_miss_modes_less_than_half_apart(self) -> None:
        assert said(steps_of(*[100, 101, 140, 141] * 5), "no-steady-state") == []

    def test_a_trend(self) -> None:
        """From 100 to 119 in steps of 1: growth 19 of a median of 109.5 is 17 %; in steps of 2 it is 38 of 119."""
        assert said(steps_of(*range(100, 120)), "no-steady-state") == []
        (finding,) = said(steps_of(*range(100, 140, 2)), "no-steady-state")
        assert (finding.id, finding.facts["growth_share"]) == ("step-trend", pytest.approx(38 / 119))

    def test_an_outlier_and_what_it_spends_more_on(self) -> None:
        """400 in a step of 500, of which its own wait of 494 stands against 94 in the others."""
        (finding,) = said(steps_of(*[100] * 10, 500, *[100] * 9), "no-steady-state")
        assert (finding.id, finding.facts["steps"], finding.facts["longest_ns"]) == ("outlier-step", "10", 500_000)
        assert (finding.facts["call"], finding.facts["extra_ns"]) == ("aclrtSynchronizeStream", 400_000)

    def test_one_of_four_is_an_outlier_and_two_are_not(self) -> None:
        assert [f.id for f in said(steps_of(100, 100, 100, 500), "no-steady-state")] == ["outlier-step"]
        assert said(steps_of(100, 500, 100, 500, 100), "no-steady-state") == []

    def test_an_outlier_that_collects_garbage(self) -> None:
        made = steps_of(*[100] * 4, 500, 100)
        made.rows["api"] = [row for row in made.rows["api"] if row["name"] == "launch"]
        made.marker("gc", "gc", 420, 800)
        (finding,) = said(made, "no-steady-state")
        assert (finding.facts["call"], finding.facts["extra_ns"]) == ("gc", 380_000)

    def test_near_miss_not_three_times_the_median(self) -> None:
        assert said(steps_of(*[100] * 10, 290, *[100] * 9), "no-steady-state") == []


def test_a_clean_loop_is_silent() -> None:
    run = Eager()
    for _ in range(10):
        run.begin()
        for _ in range(5):
            run.launch("MatMul", 40)
        run.end()
    for rule in ("capture-overhead", "capture-incomplete", "no-steady-state"):
        assert said(run.made, rule) == []
