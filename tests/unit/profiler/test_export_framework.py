"""The framework's operators in a torch_npu layout: nesting, what each launched, its times, and the arrows of the timeline."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np

from profiler.export import framework, operator_details, timeline_python
from profiler.export.flows import flows
from profiler.trace import Trace
from tests.made import Made


def made() -> Trace:
    """A step of 100 us. aten::linear (10-60) holds aten::addmm (20-50), which launches two kernels of 5 and 7 us; on another thread
    aten::mul (30-40) launches one on the AI CPU (3 us); c10d::allreduce_ (70-90) holds HcclAllreduce (75-85), a sum of 40 us; the
    kernel of the last call belongs to nobody."""
    one = Made()
    one.meta |= {"pid": 7, "unix_zero_ns": 1_000_000_000, "threads": [7, 8]}
    one.marker("step", "ProfilerStep#3", 0, 100)
    one.marker("cpu_op", "aten::linear", 10, 60)
    one.marker("cpu_op", "aten::addmm", 20, 50)
    one.marker("cpu_op", "aten::mul", 30, 40, thread=1)
    one.marker("cpu_op", "c10d::allreduce_", 70, 90)
    one.marker("cpu_op", "HcclAllreduce", 75, 85)
    for number, (at, thread) in enumerate(((25, 0), (30, 0), (35, 1), (80, 0), (95, 0))):
        one.api("launch", at, at + 1, level="communication" if at == 80 else "node", correlation=number, thread=thread)
    for number, (begin, length, kind) in enumerate(((26, 5, "AI_CORE"), (32, 7, "AI_VECTOR_CORE"), (36, 3, "AI_CPU"))):
        one.task("kernel", begin, begin + length, name=f"k{number}", op_type="K", task_type=kind, correlation=number)
    one.task("other", 82, 122, task_type="HCCL", correlation=3)
    one.comm("op", "hcom_allReduce__1_0_1", 82, 122, correlation=3, group="g", op=0)
    one.task("kernel", 130, 131, name="late", op_type="K", task_type="AI_CORE", correlation=4)
    return one.trace()


def test_operators_know_their_parents_and_the_kernels_they_launched() -> None:
    trace = made()
    rows = framework.operators(trace)
    names = [trace.strings[int(n)] for n in trace.marker["name"][rows]]
    assert names == ["aten::linear", "aten::addmm", "aten::mul", "c10d::allreduce_", "HcclAllreduce"]
    above = framework.parents(trace, rows)
    assert above == [-1, 0, -1, -1, 3]
    assert framework.owners(trace, rows, above, trace.task).tolist() == [1, 1, 2, 4, -1]
    assert framework.owners(trace, rows, above, trace.comm).tolist() == [4]
    assert framework.covering(trace, np.array([5_000, 22_000, 200_000])) == ["", "aten::addmm", ""]


def test_the_table_has_times_without_and_with_what_runs_inside(tmp_path: Path) -> None:
    (path,) = operator_details.write(made(), tmp_path / "operator_details.csv")
    with path.open(newline="") as file:
        found = {r["Name"]: [float(v) for v in list(r.values())[3:]] for r in csv.DictReader(file)}
    assert found == {  # host self, host total, device self, device total, on cores self, on cores total
        "aten::linear": [20, 50, 0, 12, 0, 12],
        "aten::addmm": [30, 30, 12, 12, 12, 12],
        "aten::mul": [10, 10, 3, 3, 0, 0],
        "c10d::allreduce_": [10, 20, 0, 40, 0, 0],
        "HcclAllreduce": [10, 10, 40, 40, 0, 0],
    }
    assert operator_details.write(Made().trace(), tmp_path / "none.csv") == []


def test_the_timeline_has_operators_steps_and_an_arrow_for_each_kernel() -> None:
    trace = made()
    texts = [text for part in timeline_python.events_of(trace, flows(trace)) for text in part]
    found = json.loads("[" + ",".join(texts) + "]")
    operators = [e for e in found if e["ph"] == "X"]
    assert [(e["name"], e["pid"], e["tid"], e["ts"], e["dur"]) for e in operators[:4]] == [
        ("ProfilerStep#3", 7, 7, "1000000.000", 99.999), ("aten::linear", 7, 7, "1000010.000", 49.999),
        ("aten::addmm", 7, 7, "1000020.000", 29.999), ("aten::mul", 7, 8, "1000030.000", 9.999),
    ]  # fmt: skip
    tails, heads = ([e for e in found if e["ph"] == ph] for ph in "sf")
    assert [e["ts"] for e in tails] == ["1000020.000", "1000020.000", "1000030.000", "1000000.000", "1000075.000"]
    assert [(e["id"], e["ts"]) for e in heads] == [
        (1_000_000_000 + t, f"{1_000_000 + t / 1000:.3f}") for t in (26_000, 32_000, 36_000, 130_000, 82_000)
    ]
