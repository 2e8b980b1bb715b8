"""Extracts of real profiles open with the figures their own files state (tests/data/real/SOURCES.md)."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from npu import events
from profiler.analysis.context import Context
from profiler.read import open_trace
from profiler.trace import Trace

REAL = Path(__file__).parents[2] / "data" / "real"
PART, OP = events.COMM_LEVELS.index("part"), events.COMM_LEVELS.index("op")


@cache
def opened(name: str) -> Trace:
    return open_trace(REAL / name)


def task_types(trace: Trace) -> Counter[str]:
    kernels = trace.tasks_of("kernel", "aicpu")
    return Counter(trace.strings[int(i)] for i in trace.task["task_type"][kernels])


def column(trace: Trace, table: str, name: str, row: str) -> int:
    """A value of a row of sums, by the name of the row."""
    sums = trace.meta["tables"][table]
    return int(sums[name][sums["name" if "name" in sums else "op_type"].index(row)])


@pytest.mark.parametrize("name", ["level1", "db"])
def test_level1_step_has_the_figures_of_its_own_file(name: str) -> None:
    trace = opened(name)
    (step,) = Context(trace).breakdown
    (sums,) = [{k: v[0] for k, v in trace.meta["tables"]["step_trace_time"].items()}]
    assert step.step == sums["step"] == 50
    # Text files round each of 187 durations to ns, so sums may differ by a few ns a kernel; the database is exact. Stage and
    # Preparing of the text file are doubles of epoch microseconds: 0.25 us.
    near = 30 if name == "level1" else 0
    assert step.computing == pytest.approx(sums["computing"], abs=near)
    assert step.communication_not_overlapped == pytest.approx(sums["communication_not_overlapped"], abs=near)
    assert step.overlapped == pytest.approx(sums["overlapped"], abs=near)
    assert step.free == pytest.approx(sums["free"], abs=near)
    assert step.stage == pytest.approx(sums["stage"], abs=500 if near else 0)
    assert step.preparing == pytest.approx(sums["preparing"], abs=500 if near else 0)


def test_level1_figures_of_the_text_file() -> None:
    sums = opened("level1").meta["tables"]["step_trace_time"]
    assert (sums["computing"], sums["communication_not_overlapped"], sums["overlapped"]) == ([8873756], [101963203], [4028675])
    assert (sums["free"], sums["stage"], sums["preparing"]) == ([25744050], [136581000], [17902500])


@pytest.mark.parametrize("name", ["level1", "db"])
def test_kernels_by_task_type(name: str) -> None:
    """The timeline says AI_CORE for vector kernels; the kernel file knows better."""
    trace = opened(name)
    assert task_types(trace) == {"AI_VECTOR_CORE": 149, "AI_CORE": 23, "MIX_AIV": 13, "DSA_SQE": 2}
    assert (trace.comm["level"] == OP).sum() == 4


def test_sums_and_rows_agree_on_compiles_and_conversions() -> None:
    trace = opened("level1")
    calls = trace.api_named("aclopCompileAndExecute")
    assert calls.sum() == 19 == column(trace, "api_statistic", "count", "aclopCompileAndExecute")
    assert (trace.api["end"] - trace.api["start"])[calls].sum() == 14_049_230
    assert column(trace, "api_statistic", "total", "aclopCompileAndExecute") == 14_049_230
    conversions = trace.task["op_type"] == trace.strings.find("TransData")
    assert conversions.sum() == 57
    assert (trace.task["end"] - trace.task["start"])[conversions].sum() == pytest.approx(1_423_208, abs=30)
    assert column(trace, "op_statistic", "total", "TransData") == 1_423_208


def test_a_kernel_carries_what_both_files_say_of_it() -> None:
    trace = opened("level1")
    row = int(np.flatnonzero(trace.task["name"] == trace.strings.find("trans_TransData_1"))[0])
    task = {n: c[row] for n, c in trace.task.items()}

    def text(name: str) -> str:
        return trace.strings[int(task[name])]

    assert text("op_type") == "TransData" and text("task_type") == "AI_VECTOR_CORE" and text("op_state") == "dynamic"
    assert text("in_shapes") == "64,3,11,11" and '"' not in text("out_shapes")
    assert task["start"] + trace.meta["unix_zero_ns"] == 1736408883704801156
    assert task["end"] - task["start"] == 6540  # 6.54015625 us
    assert task["block_dim"] > 0 and task["stream"] == 2 and task["task_id"] == 11052 and task["device"] == 0
    assert task["aiv_time(us)"] > 0 and np.isnan(task["aiv_vec_ratio"]) == np.False_


def test_launches_are_found_by_connection_id() -> None:
    """All kernels find their launch; the trimmed extract holds no calls of most other tasks."""
    trace = opened("level1")
    launches = Context(trace).launches
    assert (launches.row[trace.tasks_of("kernel")] >= 0).all()
    names = {trace.strings[int(n)] for n in trace.api["name"][launches.row[trace.tasks_of("kernel")]]}
    assert names == {"launch"}
    assert {events.LEVELS[i] for i in trace.api["level"].tolist()} == {"acl", "node", "communication"}


def test_a_framework_operator_knows_the_task_it_launched() -> None:
    trace = opened("level1")
    linked = trace.marker["correlation"] >= 0
    ops = linked & (trace.marker["kind"] == events.MARKERS.index("cpu_op"))
    assert ops.any() and np.isin(trace.marker["correlation"][ops], trace.task["correlation"]).all()


def test_parts_of_a_collective_have_planes_peers_and_their_operator() -> None:
    trace = opened("level1")
    parts = trace.comm.take(np.flatnonzero(trace.comm["level"] == PART))
    assert len(parts) == 24 and (parts["op"] == 0).all()
    assert set(parts["plane"].tolist()) <= set(range(8))
    named = {events.COMM_PARTS[p] for p in parts["part"].tolist()}
    assert {"record", "wait"} <= named
    first = int(np.argmin(parts["start"]))
    assert (parts["src"][first], parts["dst"][first], parts["bytes"][first]) == (0, -1, 4)
    assert trace.strings[int(parts["link"][first])] == "ON_CHIP" and trace.strings[int(parts["transport"][first])] == "SDMA"
    ops = trace.comm.take(np.flatnonzero(trace.comm["level"] == OP))
    assert trace.strings[int(ops["name"][0])] == "hcom_allReduce__586_0_1"
    assert trace.strings[int(ops["group"][0])] == "17522688603477080586"  # from communication.json: the timeline only counts
    assert (ops["end"] - ops["start"])[0] == 79_089_520 and ops["count"][0] == 4_097_000
    assert trace.strings[int(ops["algorithm"][0])] == "MESH-RING"


def test_markers_memory_and_counters() -> None:
    trace = opened("level1")
    kinds = {events.MARKERS[k] for k in trace.marker["kind"].tolist()}
    assert {"step", "cpu_op", "dataloader", "enqueue", "dequeue", "range"} <= kinds
    clock = trace.counter["value"][trace.counter["name"] == trace.strings.find("AI Core Freq")]
    assert set(clock.tolist()) == {1800.0}
    first = int(np.flatnonzero(trace.memory["event"] == events.MEMORY_EVENTS.index("alloc"))[0])
    assert trace.memory["bytes"][first] == 18816.5 * 1024
    assert trace.memory["allocated"][first] == 954.3701171875 * (1 << 20)


def test_facts_about_the_profile() -> None:
    meta = opened("level1").meta
    assert (meta["generator"], meta["rank"], meta["collection"]["level"]) == ("torch_npu", 0, "Level1")
    assert meta["collection"]["aic_metrics"] == "ACL_AICORE_PIPE_UTILIZATION" and meta["collection"]["l2_cache"] is True
    assert "world_size" not in meta  # one rank of a job of unknown size
    assert meta["soc"] == opened("db").meta["soc"] == "Ascend910B2" and meta["soc_inferred"]  # 24 cube cores, 1800 MHz
    assert "ASCEND_LAUNCH_BLOCKING" in meta["env"]
    assert opened("db").meta["host"]["hostname"] == "ubuntu"


def test_counters_of_the_database_have_the_names_of_the_text_files() -> None:
    text, database = opened("level1").task, opened("db").task
    assert {"aicore_time(us)", "aic_total_cycles", "aiv_vec_time(us)", "aiv_vec_ratio", "aiv_time(us)"} <= set(text) & set(
        database
    )
    assert "aiv_total_time" not in database
    known = ~np.isnan(database["aiv_time(us)"])
    assert known.sum() == 8  # the extract keeps the counters of eight kernels
    ratio = database["aiv_vec_time(us)"][known] / np.maximum(database["aiv_time(us)"][known], 1e-9)
    assert np.allclose(ratio, database["aiv_vec_ratio"][known], atol=1e-6)


def test_level0_knows_names_and_times_only() -> None:
    trace = opened("level0/kernel_details.csv")
    assert len(trace.task) == 39 and "task_type" not in trace.task and "in_shapes" not in trace.task
    assert (trace.task["op_type"] >= 0).all()  # from the names
    assert (trace.task["end"] - trace.task["start"])[0] == 50_621


def test_level2_ranks_and_their_groups() -> None:
    trace = opened("level2")
    ranks = [trace, *trace.parts]
    assert [r.meta["rank"] for r in ranks] == [0, 1]  # one file says 0, the other "1"
    assert all(r.meta["ranks"] == [0, 1] and r.meta["world_size"] == 4 for r in ranks)
    assert trace.meta["versions"] == {"cann": "8.3.RC1", "torch_npu": "2.7.1"}
    assert trace.meta["groups"]["group_name_0"]["global_ranks"] == [0, 1, 2, 3]
    assert trace.meta["tables"]["step_trace_time"]["computing"] == [231_290_100]
    assert trace.parts[0].meta["tables"]["step_trace_time"]["communication_not_overlapped"] == [441_708_380]
    # rank 1 has sums only: its collectives are rows, their insides are missing and that is said
    sums = trace.parts[0]
    assert len(sums.comm) == 15 and any("inside collectives" in m.what for m in sums.missing)


def test_files_of_2023() -> None:
    trace = opened("text2023")
    assert len(trace.task) == 17 and len(trace.comm) == 4
    assert trace.task["start"][0] + trace.meta["unix_zero_ns"] == 1695115378713661000
    assert (trace.task["end"] - trace.task["start"])[0] == 496_851  # 496.8508 us: four decimals
    assert "aic_l0a_read_bw(GB/s)" in trace.task
    # one row of this published file really has a field too few
    assert any("fewer fields" in m.why for m in trace.missing)
    assert len(opened("op_summary_memoryl0_2023.csv").task) == 17


def test_multi_line_fields() -> None:
    details = opened("text2023").meta["tables"]["operator_details"]
    assert details["name"][0] == "aten::empty" and "\n" in details["in_shapes"][0]


def test_cluster_sums() -> None:
    trace = opened("cluster_analysis_output")
    assert trace.meta["ranks"] == list(range(16)) and not trace.task
    steps = trace.meta["tables"]["step_trace_time"]
    assert len(steps["step"]) == 18 and steps["type"].count("stage") == 2
    assert steps["computing"][steps["index"].index("1")] == 75_422_220
    matrix = trace.meta["tables"]["communication_matrix"]
    at = list(zip(matrix["src"], matrix["dst"], strict=True)).index((0, 8))
    assert (matrix["transport"][at], matrix["bytes"][at], matrix["time"][at]) == ("RDMA", 20_971_520, 863_815)
    assert set(trace.meta["tables"]["communication"]["rank"]) == {0, 1}  # the published file is cut to two ranks


def test_every_file_of_a_profile_opens_alone() -> None:
    for path in sorted((REAL / "level1" / "rank0_ascend_pt" / "ASCEND_PROFILER_OUTPUT").iterdir()):
        trace = open_trace(path)
        held = [t for t in ("api", "task", "comm", "memory", "marker") if getattr(trace, t)] or list(trace.meta.get("tables", {}))
        assert held, path.name
        assert trace.meta["rank"] == 0, path.name
