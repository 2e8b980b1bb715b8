"""The torch_npu layout of a capture: switches as they were, steps, memory in MB, the database; figures by hand."""

from __future__ import annotations

import csv
import json
import sqlite3
from contextlib import closing
from datetime import datetime
from pathlib import Path

import pytest

import profiler
from npu import events
from profiler.export.torch_npu import export_torch_npu
from profiler.trace import Trace
from tests.made import Made

NOW = datetime(2026, 11, 30, 12, 0, 0)
ZERO = 1_764_246_877_000_000_000
MB = 1 << 20


def trace(**collection: object) -> Trace:
    """Two steps of 50 us with a kernel each, one kernel behind them; an allocation that is released and one that is not."""
    made = Made()
    made.meta |= {"pid": 42, "unix_zero_ns": ZERO, "versions": {"cann": "8.3.RC1"}, "collection": collection}
    for n, start in enumerate((10, 60, 110)):
        made.api("launch", start - 5, start - 4, level="node", correlation=n)
        made.task("kernel", start, start + 20, name=f"Add_{n}", op_type="Add", task_type="AI_VECTOR_CORE", correlation=n)
    for n in (1, 2):
        made.marker("step", f"ProfilerStep#{n}", 50 * (n - 1), 50 * n)
    for time, event, number, held in ((1, "alloc", 0, 2 * MB), (2, "alloc", 1, 5 * MB), (9, "free", 0, 3 * MB)):
        size = 3 * MB if number else 2 * MB
        made.memory(event, time, size, allocation=number, allocated=held, reserved=8 * MB, site=f"a.py:{number}")
    made.memory("sample", 20, 0, reserved=MB, component="HCCL")
    return made.trace()


def table(place: Path, name: str) -> list[dict[str, str]]:
    with (place / "ASCEND_PROFILER_OUTPUT" / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_kernels_have_the_number_of_their_step(tmp_path: Path) -> None:
    place = export_torch_npu(trace(), tmp_path, NOW)
    rows = table(place, "kernel_details")
    assert list(rows[0])[:2] == ["Step Id", "Device_id"]
    assert [(r["Name"], r["Step Id"]) for r in rows] == [("Add_0", "1"), ("Add_1", "2"), ("Add_2", "")]
    assert [r["Step"] for r in table(place, "step_trace_time")] == ["1", "2"]


def test_memory_is_in_megabytes_with_empty_cells_for_what_nobody_saw(tmp_path: Path) -> None:
    place = export_torch_npu(trace(), tmp_path, NOW)
    records = table(place, "memory_record")
    assert [(r["Total Allocated(MB)"], r["Total Reserved(MB)"], r["Stream Ptr"]) for r in records] == [
        ("2.0", "8.0", ""), ("5.0", "8.0", ""), ("3.0", "8.0", "")]
    first, second = table(place, "operator_memory")
    assert (first["Name"], first["Size(KB)"], first["Duration(us)"]) == ("a.py:0", "2048.0", "8.000\t")
    assert first["Allocation Time(us)"] == "1764246877000001.000\t" and first["Release Time(us)"] == "1764246877000009.000\t"
    assert (first["Allocation Total Allocated(MB)"], first["Release Total Allocated(MB)"]) == ("2.0", "3.0")
    assert second["Release Time(us)"] == second["Duration(us)"] == second["Release Total Reserved(MB)"] == ""
    (module,) = table(place, "npu_module_mem")
    assert (module["Component"], module["Total Reserved(MB)"], module["Device"]) == ("HCCL", "1.0", "NPU:0")
    again = profiler.open(place)
    kinds = [events.MEMORY_EVENTS[int(e)] for e in again.memory["event"]]
    assert kinds.count("alloc") == 2 and kinds.count("free") == 1


def test_level_zero_has_the_eight_columns_of_the_real_file(tmp_path: Path) -> None:
    rows = table(export_torch_npu(trace(level="l0"), tmp_path, NOW), "kernel_details")
    assert list(rows[0]) == ["Step Id", "Name", "Type", "Accelerator Core", "Start Time(us)", "Duration(us)", "Wait Time(us)", "Block Dim"]
    assert (rows[1]["Step Id"], rows[1]["Name"], rows[1]["Start Time(us)"]) == ("2", "Add_1", "1764246877000060.000\t")


@pytest.mark.parametrize(("collection", "level", "metrics"), [
    ({}, "Level1", "ACL_AICORE_PIPE_UTILIZATION"), ({"level": "l0"}, "Level0", "ACL_AICORE_NONE"),
    ({"aic_metrics": "MemoryL0"}, "Level1", "ACL_AICORE_MEMORY_L0"), ({"ai_core": False}, "Level1", "ACL_AICORE_NONE"),
])  # fmt: skip
def test_the_switches_are_those_of_the_capture(tmp_path: Path, collection: dict[str, object], level: str, metrics: str) -> None:
    info = json.loads((export_torch_npu(trace(**collection), tmp_path, NOW) / "profiler_info_0.json").read_text())["config"]
    found = info["experimental_config"]
    assert (found["_profiler_level"], found["_aic_metrics"], found["_export_type"]) == (level, metrics, "text")
    assert info["common_config"] == {"activities": ["ProfilerActivity.CPU", "ProfilerActivity.NPU"], "with_stack": False,
                                     "record_shapes": level == "Level1", "profile_memory": True}  # fmt: skip


def test_the_database_alone_has_steps_and_memory(tmp_path: Path) -> None:
    place = export_torch_npu(trace(), tmp_path, NOW, export_type="db")
    output = place / "ASCEND_PROFILER_OUTPUT"
    assert [p.name for p in output.iterdir()] == ["ascend_pytorch_profiler_0.db"]
    with closing(sqlite3.connect(output / "ascend_pytorch_profiler_0.db")) as db:
        assert db.execute("SELECT id, startNs, endNs FROM STEP_TIME").fetchall() == [
            (1, ZERO, ZERO + 50_000), (2, ZERO + 50_000, ZERO + 100_000)]
        rows = db.execute("SELECT s.value, size, duration, allocationTotalAllocated, releaseTotalAllocated, deviceId FROM OP_MEMORY "
                          "JOIN STRING_IDS s ON s.id = name ORDER BY allocationTime").fetchall()  # fmt: skip
        assert rows == [("a.py:0", 2 * MB, 8000, 2 * MB, 3 * MB, 0), ("a.py:1", 3 * MB, None, 5 * MB, None, 0)]
        assert db.execute("SELECT totalAllocated, totalReserved FROM MEMORY_RECORD").fetchall() == [
            (2 * MB, 8 * MB), (5 * MB, 8 * MB), (3 * MB, 8 * MB)]
    again = profiler.open(place)
    assert int(again.tasks_of("kernel").sum()) == 3 and len(again.memory) >= 3
    assert [again.strings[int(n)] for n in again.marker["name"]] == ["ProfilerStep#1", "ProfilerStep#2"]
