"""Severity, silence, causes, order and the checklist."""

from __future__ import annotations

import pytest

from profiler.analysis import analyze
from profiler.analysis.context import Context
from profiler.analysis.judge import settled, severity, speaks
from profiler.findings import Finding, Gain
from tests.made import Made
from tests.truth.machine import Machine


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


def test_where_no_kernel_ran_no_switch_is_asked_for() -> None:
    """Copies alone: what rules of kernels need was not left out, there was none."""
    made = Made()
    made.task("copy", 0, 10, direction="h2d", bytes=4096)
    report = analyze(made.trace())
    states = {c.layer: (c.state, c.why, c.switch) for c in report.checklist}
    assert states["graph"] == states["operator"] == ("not_measured", "no kernel ran", "")
    assert {u.need for u in report.unjudged} == {"calls", "launches"}
    made.task("kernel", 20, 30)
    assert {"operators", "counters", "clock"} <= {u.need for u in analyze(made.trace()).unjudged}


def test_an_empty_trace_is_a_report_without_findings() -> None:
    report = analyze(Made().trace())
    assert (report.findings, report.breakdown, report.joint, report.quality) == ([], (), None, None)
    assert {c.state for c in report.checklist} == {"not_measured"}


def test_reports_carry_what_the_reader_missed() -> None:
    from profiler.trace import Missing

    trace = Made().trace()
    trace.missing.append(Missing("api rows", "the capture was cut"))
    assert analyze(trace).missing == (("api rows", "the capture was cut"),)


def test_a_value_the_host_waits_for_is_why_its_copy_blocks() -> None:
    """Thirty flags of 4 bytes read from pageable memory: the wait is the matter, not the memory."""
    machine = Machine()
    for _ in range(30):
        machine.execute([("Softmax", 200.0)])
        machine.copy(4, "d2h", stream=1)
        machine.made.rows["api"][-1].update(name="aclrtMemcpy", blocking=1, end=machine.made.rows["task"][-1]["end"])
        machine.now = machine.free[1]
        machine.work(30)
    found = {f.id: f for f in analyze(machine.made.trace()).findings}
    assert next(iter(found)) == "implicit-sync"
    assert found["pageable-copy"].cause == "implicit-sync"
