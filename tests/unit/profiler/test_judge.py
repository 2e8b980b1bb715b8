"""Severity, silence, causes, order and the checklist."""

from __future__ import annotations

import pytest

from profiler.analysis import analyze
from profiler.analysis.context import Context
from profiler.analysis.judge import settled, severity, speaks
from profiler.findings import Finding, Gain
from tests.made import Made


def finding(id: str, us: float, number: int = 1) -> Finding:
    return Finding(id, number, "copy", "note", {}, Gain(int(us * 1000), "replay", "high"))


def window(us: float, steps: int = 1) -> Context:
    made = Made()
    for step in range(steps):
        made.marker("step", f"{step}", step * us / steps, (step + 1) * us / steps)
    made.task("kernel", 0, us)
    return Context(made.trace())


@pytest.mark.parametrize(
    ("ns", "confidence", "expected"),
    [(100, "high", "critical"), (99, "high", "warning"), (30, "high", "warning"), (29, "high", "note"), (500, "low", "warning")],
)
def test_severity_by_share_of_the_window(ns: int, confidence: str, expected: str) -> None:
    assert severity(ns, 1000, confidence) == expected


@pytest.mark.parametrize(
    ("gain", "span", "steps", "loud"),
    [
        (50, 5_000, 1, True),
        (49, 5_000, 1, False),
        (100, 30_000, 1, False),
        (30, 1_000, 1, True),
        (29, 1_000, 1, False),
        (150, 30_000, 1, True),
        (150, 10_000, 4, False),
        (200, 10_000, 4, True),
    ],
)
def test_below_half_a_percent_or_50_us_a_step_nothing_is_said_unless_it_is_a_warning(
    gain: float, span: float, steps: int, loud: bool
) -> None:
    assert speaks(finding("x", gain), window(span, steps)) is loud


def test_of_two_sides_of_one_cost_the_larger_gain_is_the_cause() -> None:
    order = settled([finding("blocking-copy", 10, 35), finding("sync-every-submit", 20, 20), finding("copy-exposed", 30, 39)])
    assert [(f.id, f.cause) for f in order] == [
        ("copy-exposed", ""),
        ("blocking-copy", "copy-exposed"),
        ("sync-every-submit", ""),
    ]
    assert order[1].gain is None
    order = settled([finding("blocking-copy", 40, 35), finding("copy-exposed", 30, 39)])
    assert [(f.id, f.cause) for f in order] == [("blocking-copy", ""), ("copy-exposed", "blocking-copy")]


def test_findings_of_one_id_all_stay() -> None:
    order = settled([finding("small-copies", 10, 36), finding("small-copies", 30, 36)])
    assert [f.gain.ns for f in order if f.gain] == [30_000, 10_000]


def test_a_layer_that_was_not_measured_says_why_and_how() -> None:
    made = Made()
    made.task("kernel", 0, 10)
    report = analyze(made.trace())
    states = {c.layer: (c.state, c.why, c.switch) for c in report.checklist}
    assert list(states) == ["graph", "host", "copy", "operator", "communication"]
    assert states["host"] == ("not_measured", "no host calls were recorded", "--ascendcl=on")
    assert states["graph"][0] == "not_measured"
    assert states["operator"][2] == "--aic-metrics=PipeUtilization"


def test_an_empty_trace_is_a_report_without_findings() -> None:
    report = analyze(Made().trace())
    assert (report.findings, report.breakdown, report.joint, report.quality) == ([], (), None, None)
    assert {c.state for c in report.checklist} == {"not_measured"}


def test_reports_carry_what_the_reader_missed() -> None:
    from profiler.trace import Missing

    trace = Made().trace()
    trace.missing.append(Missing("api rows", "the capture was cut"))
    assert analyze(trace).missing == (("api rows", "the capture was cut"),)
