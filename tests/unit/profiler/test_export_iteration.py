"""One iteration of a run, and layers of the timeline that --reports hides."""

from __future__ import annotations

import itertools
import json
from datetime import datetime
from pathlib import Path

import pytest

from cli.native.options import Refused
from cli.native.query import table
from cli.native.reports import hidden_layers
from profiler.export import iteration
from profiler.export.msprof import export_msprof
from profiler.trace import Trace
from tests.made import Made


def made() -> Made:
    """Model 2 runs twice, model 5 once between; each run is a call and two kernels, launched before the run before it ends."""
    rows = Made()
    rows.meta |= {"unix_zero_ns": 10**18, "pid": 1, "simulated": True, "soc": "Ascend910B3"}
    for n, (model, begin) in enumerate(((2, 100), (5, 200), (2, 300))):
        rows.api("aclmdlExecuteAsync", 10 * n, 10 * n + 5, correlation=n)
        rows.task("kernel", begin, begin + 20, name=f"A{n}", model=model, correlation=n)
        rows.task("kernel", begin + 25, begin + 50, name=f"B{n}", model=model, correlation=n)
    rows.task("copy", 260, 270, direction=1, bytes=4, correlation=7)
    rows.api("aclrtSynchronizeStream", 30, 400)
    rows.memory("alloc", 310, 64)
    rows.marker("step", "step 0", 90, 160)
    rows.marker("step", "step 1", 195, 255)
    rows.counter("APP/HBM", 320, 1.0)
    return rows


def named(trace: Trace) -> tuple[list[str], list[str]]:
    return ([trace.strings[int(n)] for n in trace.task["name"]], [trace.strings[int(n)] for n in trace.api["name"]])


def test_an_execution_with_what_launched_it() -> None:
    one = iteration.within(made().trace(), 2, 2)
    tasks, calls = named(one)
    assert tasks == ["A2", "B2"] and calls == ["aclmdlExecuteAsync", "aclrtSynchronizeStream"]
    assert len(one.memory) == 1 and len(one.counter) == 1 and not one.marker
    assert named(iteration.within(made().trace(), 1))[0] == ["A0", "B0"]  # the smallest model id unless said


def test_a_marked_step() -> None:
    assert named(iteration.within(made().trace(), 2, iteration.STEPS))[0] == ["A1", "B1"]


@pytest.mark.parametrize(("number", "model", "what"), [
    (3, 2, "there are 2 iterations"), (0, None, "there are 2 iterations"), (1, 3, "model 3 did not run; models 2, 5 did"),
])  # fmt: skip
def test_there_is_no_such_iteration(number: int, model: int | None, what: str) -> None:
    with pytest.raises(iteration.NoIteration) as none:
        iteration.within(made().trace(), number, model)
    assert none.value.what == what


def test_nothing_that_could_be_an_iteration() -> None:
    for model, what in ((None, "no model ran"), (iteration.STEPS, "the program marked no steps")):
        with pytest.raises(iteration.NoIteration, match=what):
            iteration.within(Made().trace(), 1, model)


def layers(folder: Path, *hidden: str) -> set[str]:
    folder.mkdir()
    export_msprof(made().trace(), folder, datetime(2026, 11, 30), only=("msprof",), hidden=hidden)
    events = json.loads(next(folder.rglob("msprof_2*.json")).read_text())
    arrows = {"arrows"} if any(e["ph"] == "s" for e in events) else set()
    return {e["args"]["name"] for e in events if e["name"] == "process_name"} | arrows


def test_layers_of_the_timeline_are_hidden_by_their_names_in_reports(tmp_path: Path) -> None:
    everything = layers(tmp_path / "all")
    assert {"CANN", "Ascend Hardware", "AI Core Freq", "NPU MEM", "Overlap Analysis", "arrows"} <= everything
    assert everything - layers(tmp_path / "some", "npu_mem", "freq", "hbm") == {"NPU MEM", "AI Core Freq"}
    assert everything - layers(tmp_path / "cann", "cann") == {"CANN", "arrows"}


@pytest.mark.parametrize(("text", "line"), [
    ("{", "it is no JSON."), ("[]", 'it does not hold {"json_process": {"layer": true or false}}.'),
    ('{"json_process": {"hbm": 1}}', 'it does not hold {"json_process": {"layer": true or false}}.'),
    ('{"json_process": {"hbn": false}}', "names the layer hbn, which there is not. Did you mean hbm?"),
])  # fmt: skip
def test_files_of_reports_that_say_nothing(tmp_path: Path, text: str, line: str) -> None:
    file = tmp_path / "reports.json"
    file.write_text(text)
    with pytest.raises(Refused) as said:
        hidden_layers(str(file))
    assert str(said.value).endswith(line)


def test_the_file_of_reports(tmp_path: Path) -> None:
    file = tmp_path / "reports.json"
    file.write_text('{"json_process": {"hbm": false, "cann": true, "sio": false}}')
    assert hidden_layers(str(file)) == {"hbm", "sio"}
    with pytest.raises(Refused, match="No such file or directory"):
        hidden_layers(str(tmp_path / "absent.json"))


def test_query_counts_executions_and_names_the_longest() -> None:
    head, *lines = table([made().trace()])
    at = [head.index(name) for name in ("Model ID", "Iteration Number", "Top Time Iteration", "Rank ID")]
    assert [[line[a:b].strip() for a, b in itertools.pairwise(at)] for line in lines] == [["2", "2", "1,2"], ["5", "1", "1"]]
    rows = Made()
    rows.task("kernel", 0, 5)
    assert table([rows.trace()])[1].split()[-4:] == ["N/A"] * 4
