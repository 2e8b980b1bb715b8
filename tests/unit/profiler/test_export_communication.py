"""Communication, memory, steps and the torch_npu layout: figures by hand, and beside what the real profiler wrote."""

from __future__ import annotations

import csv
import json
from datetime import datetime
from pathlib import Path
from typing import Any

import profiler
from npu import events
from profiler.analysis.context import Context
from profiler.export import (
    communication_json,
    communication_statistic,
    memory_record,
    npu_module_mem,
    operator_memory,
    step_trace,
    step_trace_time,
)
from profiler.export.torch_npu import export_torch_npu
from tests.made import Made

REAL = Path(__file__).parents[2] / "data" / "real" / "collectives"
STAMP = "20261130120000"
NOW = datetime(2026, 11, 30, 12, 0, 0, 7000)
GROUP = 103 * 2**32 + 103  # "g": both hashes of one letter are its number


def rows(path: Path) -> list[dict[str, str]]:
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def part(name: str) -> int:
    return events.COMM_PARTS.index(name)


def reduce_once() -> Made:
    """One all-reduce of 100 us: a wait of 20, a transfer of 4 MB in 40 to rank 1, a wait of 10, a local reduce of 5."""
    made = Made()
    name = "hcom_allReduce__1_0_1"
    made.comm("op", name, 100, 200, group="g", op=0)
    common = {"group": "g", "op": 0, "plane": 0, "link": "HCCS", "src": 0}
    made.comm("part", "", 100, 120, part=part("wait"), dst=1, **common)
    made.comm("part", "", 120, 160, part=part("transfer"), bytes=4_000_000, dst=1, **common)
    made.comm("part", "", 160, 170, part=part("wait"), dst=1, **common)
    made.comm("part", "", 170, 175, part=part("reduce"), bytes=8, dst=-1, **common)
    return made


def test_times_and_bandwidth_of_a_collective(tmp_path: Path) -> None:
    communication_json.write(reduce_once().trace(), tmp_path)
    held = json.loads((tmp_path / "communication.json").read_text())["step"]["collective"][f"hcom_allReduce__1_0_1@{GROUP}"]
    assert held["Communication Time Info"] == {
        "Start Timestamp(us)": 100.0, "Elapse Time(ms)": 0.1, "Transit Time(ms)": 0.045, "Wait Time(ms)": 0.03,
        "Synchronization Time(ms)": 0.02, "Idle Time(ms)": 0.025, "Wait Time Ratio": 0.4,
        "Synchronization Time Ratio": 0.3077,
    }  # fmt: skip
    for transport in ("HCCS", "SDMA"):  # the local reduce is no transfer over a link
        info = held["Communication Bandwidth Info"][transport]
        assert (info["Transit Size(MB)"], info["Transit Time(ms)"], info["Bandwidth(GB/s)"]) == (4.0, 0.04, 100.0)
    links = json.loads((tmp_path / "communication_matrix.json").read_text())["step"]["collective"][f"allreduce-total@{GROUP}"]
    assert links["0-1"]["Transport Type"] == "HCCS" and links["0-0"]["Transport Type"] == "LOCAL"


def near(real: Any, ours: Any) -> bool:
    """Numbers to the nanosecond the timeline keeps (sums of fractions of it in the real file); bandwidths to a permille."""
    return real == ours or (isinstance(real, int | float) and abs(real - ours) <= max(2e-5, 1e-3 * abs(real)))


def test_the_sums_of_the_real_profiler_follow_from_its_timeline(tmp_path: Path) -> None:
    trace = profiler.open(REAL)
    communication_json.write(trace, tmp_path)
    for name in ("communication", "communication_matrix"):
        (real,) = json.loads((REAL / f"{name}.json").read_text()).values()
        ours = json.loads((tmp_path / f"{name}.json").read_text())["step"]
        for title, body in real["collective"].items():
            for group, facts in body.items():
                if group == "Communication Bandwidth Info":
                    facts = facts["HCCS"]
                    mine = ours["collective"][title][group]["HCCS"]
                else:
                    mine = ours["collective"][title][group]
                for key, value in facts.items():
                    if key != "Size Distribution":
                        assert near(value, mine[key]), (title, group, key, value, mine[key])


def test_statistic_of_operators(tmp_path: Path) -> None:
    made = reduce_once()
    made.comm("op", "hcom_allReduce__1_1_1", 300, 600, group="g", op=1)
    made.comm("op", "hcom_broadcast__1_2_1", 700, 800, group="g", op=2)
    (path,) = communication_statistic.write(made.trace(), tmp_path, STAMP)
    first, second = rows(path)
    assert first == {"Device_id": "0", "OP Type": "hcom_allReduce_", "Count": "2", "Total Time(us)": "400", "Min Time(us)": "100",
                     "Avg Time(us)": "200", "Max Time(us)": "300", "Ratio(%)": "80"}  # fmt: skip
    assert (second["OP Type"], second["Ratio(%)"]) == ("hcom_broadcast_", "20")


def test_memory_files(tmp_path: Path) -> None:
    made = Made()
    made.meta["unix_zero_ns"] = 10**18
    made.memory("alloc", 1, 2048, allocation=0, allocated=2048, reserved=4096, site="a.py:3")
    made.memory("alloc", 2, 512, allocation=1, allocated=2560, reserved=4096, device=0)
    made.memory("free", 5, 2048, allocation=0, allocated=512, reserved=4096)
    made.memory("free", 6, 1024, allocation=9)
    made.memory("sample", 7, -1, component="HCCL", reserved=3072)
    trace = made.trace()
    (record,) = memory_record.write(trace, tmp_path, STAMP)
    assert [r["Total Allocated(KB)"] for r in rows(record)] == ["2.0", "2.5", "0.5", "N/A"]
    assert rows(record)[0]["Timestamp(us)"] == "1000000000000001.000\t"
    (operators,) = operator_memory.write(trace, tmp_path, STAMP)
    first, second, third = rows(operators)
    assert (first["Name"], first["Size(KB)"], first["Duration(us)"], first["Release Total Allocated(KB)"]) == (
        "a.py:3", "2.0", "4.000", "0.5")  # fmt: skip
    assert second["Duration(us)"] == "N/A" and third["Size(KB)"] == "-1.0" and third["Allocation Time(us)"] == "N/A"
    (modules,) = npu_module_mem.write(trace, tmp_path, STAMP)
    assert [(r["Component"], r["Total Reserved(KB)"], r["Device"]) for r in rows(modules)] == [("HCCL", "3.0", "NPU:0")]


def test_executions_of_a_model(tmp_path: Path) -> None:
    made = Made()
    for number, start in enumerate((0, 100)):
        for step in range(3):
            made.task("kernel", start + 10 * step, start + 10 * step + 8, name=f"k{step}", model=1, correlation=number)
    (path,) = step_trace.write(made.trace(), tmp_path, STAMP)
    first, second = rows(path)
    assert (first["Iteration ID"], first["Iteration Time(us)"], first["Data Aug Bound(us)"]) == ("1", "28.000", "N/A")
    assert (second["Iteration ID"], second["FP Start(us)"], second["Data Aug Bound(us)"]) == ("2", "100.000\t", "72.000")


def test_time_of_a_step(tmp_path: Path) -> None:
    made = Made()
    made.marker("step", "ProfilerStep#7", 0, 200)
    made.task("kernel", 20, 60, name="a")
    made.comm("op", "hcom_allReduce__1_0_1", 50, 90)
    made.task("kernel", 100, 120, name="b")
    step_trace_time.write(made.trace(), tmp_path / "s.csv")
    (row,) = rows(tmp_path / "s.csv")
    assert list(row.values()) == [
        "0",
        "7",
        "60.000",
        "30.000",
        "10.000",
        "40.000",
        "10.000",
        "100.000",
        "0.000",
        "30.000",
        "20.000",
    ]


def test_times_under_overlap_are_those_of_the_breakdown(tmp_path: Path) -> None:
    """Two steps, by hand in us. Step 1: C = [20, 60) + [100, 120) = 60, M = [50, 90) + [110, 140) = 70, both at once [50, 60) and
    [110, 120) = 20, so 50 alone; busy [20, 90) + [100, 140) of [20, 140): 10 free. Step 2 launches [210, 260) and M [250, 320),
    which runs on 20 behind the step's end: 50, 70, 10 at once, none free; a kernel that M launched is no computation."""
    made = Made()
    made.marker("step", "ProfilerStep#1", 0, 200)
    made.marker("step", "ProfilerStep#2", 200, 300)
    for number, (launch, start, end) in enumerate(((5, 20, 60), (6, 100, 120), (205, 210, 260))):
        made.api("launch", launch, launch + 1, level="node", correlation=number)
        made.task("kernel", start, end, name=f"k{number}", correlation=number)
    for number, (launch, start, end) in enumerate(((7, 50, 90), (8, 110, 140), (240, 250, 320)), 10):
        made.api("launch", launch, launch + 1, level="node", correlation=number)
        made.comm("op", f"hcom_allReduce__1_{number}_1", start, end, correlation=number)
    made.task("kernel", 255, 280, name="reduction", stream=9, correlation=12)
    step_trace_time.write(made.trace(), tmp_path / "s.csv")
    found = rows(tmp_path / "s.csv")
    named = ("Computing", "Communication(Not Overlapped)", "Overlapped", "Communication", "Free", "Stage", "Preparing")
    assert [[float(row[n]) for n in named] for row in found] == [
        [60, 50, 20, 70, 10, 120, 20], [50, 60, 10, 70, 0, 110, 10]]  # fmt: skip
    ours = Context(made.trace()).breakdown
    assert [[ns / 1000 for ns in (b.computing, b.communication_not_overlapped, b.overlapped, b.communication, b.free, b.stage,
                                  b.preparing or 0)] for b in ours] == [[float(row[n]) for n in named] for row in found]  # fmt: skip


def test_the_torch_npu_layout_reads_back_alike(tmp_path: Path) -> None:
    made = reduce_once()
    made.meta |= {"pid": 42, "rank": 3, "host": {"hostname": "node"}, "unix_zero_ns": 1_764_246_877_000_000_000}
    made.task("kernel", 10, 20, name="Add_1", op_type="Add", task_type="AI_VECTOR_CORE", correlation=5, in_shapes="4,4")
    made.api("aclnnAdd", 1, 3, correlation=5)
    place = export_torch_npu(made.trace(), tmp_path, NOW)
    assert place.name == "node_42_20261130120000007_ascend_pt"
    assert not [p for p in place.iterdir() if p.name.startswith(".")]
    with (place / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv").open() as lines:
        assert lines.readline().startswith(
            "Step Id,Device_id,Model ID,Task ID,Stream ID,Name,Type,OP State,Accelerator Core,Start Time(us)"
        )
    again = profiler.open(place)
    assert again.meta["rank"] == 3 and again.meta["generator"] == "torch_npu"
    kernel = again.task.take(again.tasks_of("kernel"))
    assert [again.strings[int(i)] for i in kernel["op_type"]] == ["Add"] and (kernel["end"] - kernel["start"]).tolist() == [
        10_000
    ]
    assert len(again.comm) == 5 and len(again.meta["tables"]["communication"]["name"]) == 1
