"""Ranges marked `ignore`: nothing that began in them counts, their time is gone, and places in the report are those of the file."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from npu.units import MIB
from profiler import open as open_trace
from profiler import texts
from profiler.analysis import analyze, analyze_with_path
from profiler.analysis.context import Context
from profiler.analysis.ignored import cut
from profiler.analysis.whatif import Wanted, what_if
from profiler.findings import Report
from profiler.report.json_report import to_json
from profiler.report.terminal import print_report
from tests.truth.machine import Machine
from tests.unit.profiler.eager import Eager

IMAGES = 12
KERNELS = [("Softmax", 100.0)] * 5


def loop(check: bool, name: str = "ignore", kind: str = "range", domain: str = "") -> Machine:
    """Twelve marked steps, each a launch and a wait for it. After every fourth one, inside a range, a check reads many flags."""
    machine = Machine()
    for image in range(IMAGES):
        begun = machine.now
        machine.execute(KERNELS)
        machine.sync()
        machine.step(image, begun)
        if check and image % 4 == 3:
            begun = machine.now
            for _ in range(30):
                machine.execute([("ReduceMax", 20.0)], model=2, site="check.py:5")
                machine.copy(4, "d2h", site="check.py:6")
            machine.made.marker(kind, name, begun, machine.now, domain=domain)
    return machine


def ns(time: object) -> int:
    assert isinstance(time, int)
    return time


def ids(report: Report) -> list[str]:
    return [f.id for f in report.findings]


def text(report: Report, lang: str) -> str:
    console = Console(file=io.StringIO(), width=200)
    print_report(report, console, lang)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_rest_is_judged_as_if_the_range_had_never_been() -> None:
    marked, never = (analyze(loop(c).made.trace(), views=True) for c in (True, False))
    assert ids(marked) == ids(never) == []
    assert [(v.id, v.total) for v in marked.views] == [(v.id, v.total) for v in never.views]
    assert marked.breakdown == never.breakdown
    assert (marked.steps, marked.length) == (never.steps, never.length)


def test_unmarked_the_same_is_said() -> None:
    assert "implicit-sync" in ids(analyze(loop(True, name="check").made.trace()))


@pytest.mark.parametrize(
    ("name", "kind", "domain", "counts"),
    [
        ("Ignore: validation", "range", "", True),
        ("ignore", "cpu_op", "", True),  # record_function of the framework
        ("validation", "range", "ignore", True),
        ("ignored", "range", "", False),
        ("ignore_index", "range", "", False),
        ("do not ignore", "range", "", False),
        ("ignore", "gc", "", False),
    ],
)
def test_what_marks_a_range(name: str, kind: str, domain: str, counts: bool) -> None:
    assert (cut(loop(True, name, kind, domain).made.trace()).ranges == 3) is counts


def test_the_report_says_how_many_and_how_much() -> None:
    machine = loop(True)
    report = analyze(machine.made.trace())
    inside = [r for r in machine.made.rows["marker"] if r["name"] == "ignore" and ns(r["end"]) <= report.window[1]]
    assert len(inside) == 2  # the third lies behind the last step
    assert report.ignored == (3, sum(ns(r["end"]) - ns(r["start"]) for r in inside))
    assert report.length == report.window[1] - report.window[0] - report.ignored.ns
    assert texts.ignored(report.ignored, "en") in text(report, "en")
    assert texts.ignored(report.ignored, "zh") in text(report, "zh")
    assert to_json(report)["ignored"] == {"ranges": 3, "us": report.ignored.ns / 1000}
    assert "ignore" not in text(analyze(loop(False).made.trace()), "en")


def test_evidence_and_path_stand_where_they_stand_in_the_file() -> None:
    machine = Machine()
    machine.execute(KERNELS)
    machine.sync()
    begun = machine.now
    for _ in range(5):
        machine.execute(KERNELS, model=2)
        machine.sync()
    machine.made.marker("range", "ignore", begun, machine.now)
    for _ in range(40):
        machine.copy(8 * MIB, slower=3)  # slow, from pageable memory
        machine.execute(KERNELS)
        machine.sync()
    trace = machine.made.trace()
    report, path = analyze_with_path(trace)
    shown = [e for f in report.findings for e in f.evidence if e.table == "task" and e.rows]
    assert shown
    for evidence in shown:
        (row,) = evidence.rows
        assert (evidence.start, evidence.end) == (int(trace.task["start"][row]), int(trace.task["end"][row]))
    starts = {"api": trace.api["start"], "task": trace.task["start"]}
    assert path
    assert not any(round(begun * 1000) <= starts[t][r] < ns(machine.made.rows["marker"][0]["end"]) for t, r in path)
    assert report.window == Context(trace).cut.back(Context(trace).window)


def test_work_of_others_is_never_shortened() -> None:
    """The device still works on what was launched before, and another stream on what is launched behind it."""
    run = Eager()
    run.launch("MatMulV2", 500)
    begun = run.now
    run.launch("ArgMax", 50)
    run.made.marker("range", "ignore", begun, run.now)
    run.launch("Softmax", 70, stream=2)
    run.made.rows["task"][-1].update(start=300_000, end=370_000)
    trace = run.made.trace()
    found = cut(trace)
    assert [trace.strings[int(n)] for n in found.trace.task["op_type"]] == ["MatMulV2", "Softmax"]
    assert (found.trace.task["end"] - found.trace.task["start"]).tolist() == [500_000, 70_000]
    assert found.length == 51_000  # from the end of the product to that of ArgMax, with the gap before it


def test_a_what_if_leaves_them_out() -> None:
    wanted = Wanted(operators={"ReduceMax": 0.5, "Softmax": 0.5})
    made = what_if(loop(True).made.trace(), wanted)
    assert [c.gain is None for c in made.changes] == [True, False]
    assert made.ignored.ranges == 3


def test_a_range_over_everything_leaves_nothing() -> None:
    machine = loop(False)
    machine.made.marker("range", "ignore", 0, machine.end + 1)
    report = analyze(machine.made.trace())
    assert report.findings == [] and report.ignored.ranges == 1


def test_collectives_go_with_their_parts() -> None:
    from tests.unit.profiler.exchange import Steps

    steps = Steps()
    for number in range(6):
        steps.kernel(500)
        begun = steps.host
        steps.collective({1: 300.0 if number == 2 else 0.0, 2: 0.0}, 40)
        if number == 2:
            steps.made.marker("range", "ignore", begun, steps.host)
        steps.mark()
    comm = cut(steps.made.trace()).trace.comm
    assert sorted(set(comm["op"].tolist())) == [2, 4, 8, 10, 12]


def test_a_range_of_a_time_line_file(tmp_path: Path) -> None:
    """mstx ranges as msprof writes them, in the layer of the program."""
    names = [(1, "PID Name"), (2, "Ascend Hardware")]
    rows = [{"ph": "M", "name": "process_name", "pid": p, "tid": 0, "args": {"name": n}} for p, n in names]
    rows += [
        {"ph": "X", "name": f"MatMul_{i}", "pid": 2, "tid": 3, "ts": 1000 + 100 * i, "dur": 80, "args": {"Task Type": "AI_CORE"}}
        for i in range(10)
    ]
    rows.append({"ph": "X", "name": "ignore warm-up", "pid": 1, "tid": 7, "ts": 1200, "dur": 300, "args": {}})
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(rows))
    report = analyze(open_trace(path))
    assert report.ignored == (1, 300_000)
    assert report.breakdown[0].computing == 7 * 80_000
    assert report.breakdown[0].stage == 680_000


@given(st.lists(st.tuples(st.integers(0, 400), st.integers(1, 60)), max_size=4), st.integers(0, 4))
def test_any_ranges_leave_rows_in_order_and_kernels_whole(ranges: list[tuple[int, int]], extra: int) -> None:
    run = Eager()
    for number in range(12):
        run.user(float(number % 3) * 9)
        run.launch("Add", 20.0 + extra * number)
        if number % 4 == 3:
            run.sync()
    for begin, length in ranges:
        run.made.marker("range", "ignore", begin, begin + length)
    trace = run.made.trace()
    found = cut(trace)
    if not ranges:
        assert found.trace is trace
        return
    rows, task = found.rows["task"], found.trace.task
    lengths = trace.task["end"] - trace.task["start"]
    assert (task["end"] - task["start"] == lengths[rows]).all()
    assert (np.diff(task["start"]) >= 0).all()
    assert (found.trace.api["end"] >= found.trace.api["start"]).all()
    for number, row in enumerate(rows.tolist()):
        span = int(task["start"][number]), int(task["end"][number])
        assert found.back(span) == (int(trace.task["start"][row]), int(trace.task["end"][row]))
    report = analyze(trace)
    assert report.window[1] - report.window[0] - report.ignored.ns == report.length >= 0
