"""The CSV files, line by line, from traces whose figures can be checked by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from profiler.export import api_statistic, csvtext, op_statistic, op_summary, pmu, task_time
from profiler.trace import Trace
from tests.made import Made

STAMP = "20261130120000"
ZERO = 1_764_246_877_000_000_000


def made() -> Made:
    rows = Made()
    rows.meta |= {"unix_zero_ns": ZERO, "pid": 4242}
    return rows


def lines(files: list[Path]) -> list[str]:
    assert len(files) == 1
    text = files[0].read_bytes().decode()
    assert text.endswith("\n") and "\r" not in text
    return text.splitlines()


def test_op_summary_has_kernels_and_collectives_of_each_device_in_order_of_start(tmp_path: Path) -> None:
    rows = made()
    rows.task("kernel", 100, 110.5, device=1, stream=3, name="Relu_1", op_type="Relu", task_type="AI_VECTOR_CORE")
    rows.task("kernel", 20, 30, name="MatMul_2", op_type="MatMulV3", task_type="MIX_AIC", model=7, op_state="static",
              block_dim=20, mix_block_dim=40, in_shapes="16,16;;16,16", in_dtypes="DT_BF16;FLOAT;DT_BF16", in_formats="ND;ND;ND",
              out_shapes="16,16", out_dtypes="DT_BF16", out_formats="ND", aic_mac_ratio=0.5186)
    rows.task("copy", 31, 33)
    rows.task("kernel", 10, 12.002, name="Add_1", op_type="Add", task_type="AI_VECTOR_CORE", stream=2, block_dim=48,
              mix_block_dim=0, aic_mac_ratio=float("nan"))
    rows.comm("op", "hcom_allReduce__586_0_1", 29, 40, group="586")
    rows.comm("part", "Memcpy", 30, 35, group="586")
    for row in rows.rows["task"]:
        row.setdefault("aic_mac_ratio", float("nan"))

    assert lines(op_summary.write(rows.trace(), tmp_path, STAMP)) == [
        "Device_id,Model ID,Task ID,Stream ID,Op Name,OP Type,OP State,Task Type,Task Start Time(us),Task Duration(us),"
        "Task Wait Time(us),Block Dim,Mix Block Dim,HF32 Eligible,Input Shapes,Input Data Types,Input Formats,Output Shapes,"
        "Output Data Types,Output Formats,Context ID,aic_mac_ratio",
        "0,4294967295,3,2,Add_1,Add,N/A,AI_VECTOR_CORE,1764246877000010.000\t,2.002,0,48,0,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A",
        '0,7,1,1,MatMul_2,MatMulV3,static,MIX_AIC,1764246877000020.000\t,10.000,7.998000,20,40,N/A,"""16,16;;16,16""",'
        'DT_BF16;FLOAT;DT_BF16,ND;ND;ND,"""16,16""",DT_BF16,ND,0,0.519',
        # Starts before the kernel ends: no wait. The copy is no row and does not count.
        "0,4294967295,N/A,N/A,hcom_allReduce__586_0_1,hcom_allReduce_,N/A,HCCL,1764246877000029.000\t,11.000,0.000000,"
        "0,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A",
        "1,4294967295,0,3,Relu_1,Relu,N/A,AI_VECTOR_CORE,1764246877000100.000\t,10.500,0,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A",
    ]


def test_op_summary_of_collectives_alone_ends_with_the_wait_time(tmp_path: Path) -> None:
    rows = made()
    rows.comm("op", "hcom_broadcast__1_0_1", 5, 6)
    assert lines(op_summary.write(rows.trace(), tmp_path, STAMP)) == [
        ",".join(op_summary.FIRST),
        "0,4294967295,N/A,N/A,hcom_broadcast__1_0_1,hcom_broadcast_,N/A,HCCL,1764246877000005.000\t,1.000,0",
    ]


def test_chips_without_the_stars_scheduler_have_fewer_columns(tmp_path: Path) -> None:
    rows = made()
    rows.meta["soc"] = "Ascend310P3"
    rows.task("kernel", 1, 2, name="Add", op_type="Add", task_type="AI_CORE", **{"aiv_time(us)": 1.0, "mac_ratio": 0.25})
    head, line = lines(op_summary.write(rows.trace(), tmp_path, STAMP))
    assert "Mix Block Dim" not in head and "Context ID" not in head
    assert head.endswith("Output Formats,mac_ratio") and line.endswith("N/A,0.25")


def test_counters_stand_in_the_real_order_whatever_the_order_of_the_trace(tmp_path: Path) -> None:
    rows = made()
    rows.task("kernel", 1, 2, name="Add", task_type="AI_CORE", **{n: 0.0 for n in reversed(pmu.PIPES)})
    trace = rows.trace()
    trace.task = trace.task.with_columns(**{n: np.array([1.0]) for n in pmu.PIPES if n.endswith("cycles")})
    head = lines(op_summary.write(trace, tmp_path, STAMP))[0]
    assert head.endswith("Context ID," + ",".join(pmu.PIPES))


def test_float_columns_that_are_no_counters_of_the_profiler_stay_out(tmp_path: Path) -> None:
    rows = made()
    rows.task("kernel", 1, 2, name="Add", task_type="AI_CORE", aiv_vec_fp32_ratio=0.5, model_ratio=0.1)
    trace = rows.trace()
    trace.task = trace.task.with_columns(flops=np.array([1e9]), read_bytes=np.array([1e6]))
    assert lines(op_summary.write(trace, tmp_path, STAMP))[0].endswith("Context ID,aiv_vec_fp32_ratio")


def test_op_statistic_groups_by_type_and_core_with_shares_of_the_device(tmp_path: Path) -> None:
    rows = made()
    for start, end, op_type, device in ((0, 10, "Add", 0), (20, 50, "MatMulV3", 0), (60, 62.5, "Add", 0), (0, 4, "Add", 1)):
        core = "AI_CORE" if "Mat" in op_type else "AI_VECTOR_CORE"
        rows.task("kernel", start, end, op_type=op_type, name=op_type, device=device, task_type=core)
    rows.task("copy", 70, 90)
    # Device 0: 42.5 us, MatMulV3 30 = 70.588 %, Add 12.5 = 29.412 %.
    assert lines(op_statistic.write(rows.trace(), tmp_path, STAMP)) == [
        "Device_id,OP Type,Core Type,Count,Total Time(us),Min Time(us),Avg Time(us),Max Time(us),Ratio(%)",
        "0,MatMulV3,AI_CORE,1,30,30,30,30,70.588",
        "0,Add,AI_VECTOR_CORE,2,12.5,2.5,6.25,10,29.412",
        "1,Add,AI_VECTOR_CORE,1,4,4,4,4,100",
    ]


def test_api_statistic_by_name_and_level_with_population_variance(tmp_path: Path) -> None:
    rows = made()
    for start, end in ((0, 1), (10, 12), (20, 26)):
        rows.api("aclrtMemcpyAsync", start, end)
    rows.api("launch", 30, 30.25, level="node")
    rows.api("HcclAllReduce", 40, 41, level="communication")
    # Durations 1, 2, 6: mean 3, variance (4 + 1 + 9) / 3.
    assert lines(api_statistic.write(rows.trace(), tmp_path, STAMP)) == [
        "Device_id,Level,API Name,Time(us),Count,Avg(us),Min(us),Max(us),Variance",
        "host,hccl,HcclAllReduce,1,1,1,1,1,0",
        "host,acl,aclrtMemcpyAsync,9,3,3,1,6,4.667",
        "host,node,launch,0.25,1,0.25,0.25,0.25,0",
    ]


def test_variance_of_equal_long_calls_is_zero(tmp_path: Path) -> None:
    rows = made()
    for start in range(3):
        rows.api("aclrtSynchronizeStream", start * 1e9, start * 1e9 + 123_456_789.123)
    assert lines(api_statistic.write(rows.trace(), tmp_path, STAMP))[1].endswith(",0")


def test_task_time_has_every_task_and_names_for_kernels_only(tmp_path: Path) -> None:
    rows = made()
    rows.task("record", 50, 50.02, stream=2)
    rows.task("copy", 5, 8, name="copy of x", direction=1)
    rows.task("kernel", 10, 12, name="Add_1", task_type="AI_CORE")
    assert lines(task_time.write(rows.trace(), tmp_path, STAMP)) == [
        "Device_id,kernel_name,kernel_type,stream_id,task_id,task_time(us),task_start(us),task_stop(us)",
        "0,N/A,MEMCPY_ASYNC,1,1,3.000,1764246877000005.000\t,1764246877000008.000\t",
        "0,Add_1,KERNEL_AICORE,1,2,2.000,1764246877000010.000\t,1764246877000012.000\t",
        "0,N/A,EVENT_RECORD,2,0,0.020,1764246877000050.000\t,1764246877000050.020\t",
    ]


@pytest.mark.parametrize("write", [op_summary.write, op_statistic.write, api_statistic.write, task_time.write])
def test_nothing_to_say_makes_no_file(tmp_path: Path, write: object) -> None:
    assert write(Trace(Path("empty")), tmp_path, STAMP) == []  # type: ignore[operator]
    assert list(tmp_path.iterdir()) == []


def test_long_tables_are_cut_into_slices_with_a_header_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csvtext, "SLICE", 3)
    rows = made()
    for n in range(7):
        rows.task("kernel", 10 * n, 10 * n + 1, name=f"k{n}", task_type="AI_CORE")
    files = task_time.write(rows.trace(), tmp_path, STAMP)
    assert [f.name for f in files] == [f"task_time_slice_{n}_{STAMP}.csv" for n in range(3)]
    bodies = [f.read_text().splitlines() for f in files]
    assert {b[0] for b in bodies} == {",".join(task_time.HEADER)}
    assert [line.split(",")[1] for b in bodies for line in b[1:]] == [f"k{n}" for n in range(7)]
    assert [len(b) - 1 for b in bodies] == [3, 3, 1]


def test_a_core_that_took_no_part_counts_zero_and_a_kernel_without_counters_nothing(tmp_path: Path) -> None:
    rows = made()
    nothing = float("nan")
    rows.task("kernel", 1, 2, name="Add", task_type="AI_VECTOR_CORE", aic_mac_ratio=nothing, aiv_vec_ratio=0.5)
    rows.task("aicpu", 3, 4, name="Unique", task_type="AI_CPU", aic_mac_ratio=nothing, aiv_vec_ratio=nothing)
    _, vector, aicpu = lines(op_summary.write(rows.trace(), tmp_path, STAMP))
    assert vector.endswith(",0.0,0.5") and aicpu.endswith(",N/A,N/A")
