"""The timeline: layers, threads, arrows and overlap of small traces."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from profiler.export import timeline_json
from profiler.export.timeline_host import acl_mode
from profiler.trace import Trace
from tests.made import Made

PID = 3096504
ZERO = 1_764_246_877_000_000_000
HOST = PID << 10 | 7 << 5 | 31


def made() -> Made:
    rows = Made()
    rows.meta |= {"unix_zero_ns": ZERO, "pid": PID}
    return rows


def pid(layer: int, device: int = 0) -> int:
    return PID << 10 | layer << 5 | device


def events(rows: Made, tmp_path: Path) -> list[dict[str, Any]]:
    (path,) = timeline_json.write(rows.trace(), tmp_path, "20261130120000")
    read: list[dict[str, Any]] = json.loads(path.read_text())
    return read


def bars(found: list[dict[str, Any]], process: int) -> list[dict[str, Any]]:
    return [e for e in found if e["ph"] == "X" and e["pid"] == process]


def test_a_host_call_is_a_bar_on_its_thread(tmp_path: Path) -> None:
    rows = made()
    rows.meta["threads"] = [PID, 3099702]
    rows.api("aclrtMemcpyAsync", 1.5, 33.34, thread=1, correlation=936)
    found = events(rows, tmp_path)
    assert bars(found, HOST) == [{
        "name": "AscendCL@aclrtMemcpyAsync", "pid": HOST, "tid": 3099702, "ts": "1764246877000001.500", "dur": 31.84, "ph": "X",
        "args": {"Thread Id": 3099702, "Mode": "ACL_RTS", "level": "acl", "id": "aclrtMemcpyAsync", "item_id": "0",
                 "connection_id": 936},
    }]
    assert [(e["name"], e["tid"], e["args"]) for e in found if e["ph"] == "M" and e["pid"] == HOST] == [
        ("process_name", 0, {"name": "CANN"}), ("process_labels", 0, {"labels": "CPU"}),
        ("process_sort_index", 0, {"sort_index": 7}),
        ("thread_name", 3099702, {"name": "Thread 3099702"}), ("thread_sort_index", 3099702, {"sort_index": 3099702}),
    ]


def test_threads_without_a_list_follow_the_process_in_own_captures_and_are_real_elsewhere(tmp_path: Path) -> None:
    rows = made()
    rows.api("aclInit", 0, 1, thread=2)
    assert bars(events(rows, tmp_path), HOST)[0]["tid"] == PID + 2
    rows.meta["generator"] = "msprof"
    (tmp_path / "real").mkdir()
    assert bars(events(rows, tmp_path / "real"), HOST)[0]["tid"] == 2


def test_a_launch_names_its_kernel_and_layers_have_their_names(tmp_path: Path) -> None:
    rows = made()
    rows.api("launch", 0, 1, level="node", correlation=5)
    rows.api("ModelExecute", 2, 3, level="model")
    rows.api("Launch_Ffts", 4, 5, level="communication")
    rows.api("KernelLaunch", 6, 7, level="runtime")
    rows.task("kernel", 2, 3, name="trans_TransData_0", task_type="AI_CORE", correlation=5)
    found = bars(events(rows, tmp_path), HOST)
    shown = [(e["name"], *(e["args"][n] for n in ("Mode", "level", "id", "item_id"))) for e in found]
    assert shown == [
        ("Node@launch", "launch", "node", "0", "trans_TransData_0"), ("Model@ModelExecute", "ModelExecute", "model", "0", "0"),
        ("Hccl@Launch_Ffts", "master", "hccl", "0", "Launch_Ffts"), ("Runtime@KernelLaunch", "KernelLaunch", "runtime", "0", "0"),
    ]


@pytest.mark.parametrize(("name", "mode"), [
    ("aclrtMalloc", "ACL_RTS"), ("aclmdlExecute", "ACL_MODEL"), ("aclnnMm", "ACL_NN"), ("TransData_Tiling", "ACL_NN"),
    ("aclopCompileAndExecute", "ACL_OP"), ("aclCreateTensorDesc", "ACL_OP"), ("opCompile", "ACL_OP"),
    ("hcom_allReduce_", "HOST_HCCL"), ("aclInit", "ACL_OTHERS"),
])
def test_groups_of_calls_as_real_files_have_them(name: str, mode: str) -> None:
    assert acl_mode(name) == mode


def test_tasks_lie_on_their_streams_under_operator_or_task_name(tmp_path: Path) -> None:
    rows = made()
    rows.task("kernel", 10, 12.5, name="Fa_1", task_type="MIX_AIC", stream=2, model=9, correlation=4)
    rows.task("copy", 20, 30, direction=0, device=1, stream=3)
    rows.task("copy", 40, 50, direction=1, bytes=200_000)
    found = events(rows, tmp_path)
    assert bars(found, pid(14)) == [
        {"name": "Fa_1", "pid": pid(14), "tid": 2, "ts": "1764246877000010.000", "dur": 2.5, "ph": "X",
         "args": {"Model Id": 9, "Task Type": "MIX_AIC", "Physic Stream Id": 2, "Task Id": 0, "Batch Id": 0, "Subtask Id": 0,
                  "connection_id": 4}},
        # 200,000 bytes in 10,000 ns are 20 GB/s.
        {"name": "MEMCPY_ASYNC", "pid": pid(14), "tid": 1, "ts": "1764246877000040.000", "dur": 10.0, "ph": "X",
         "args": {"Model Id": 4294967295, "Task Type": "PCIE_DMA_SQE", "Physic Stream Id": 1, "Task Id": 2, "Batch Id": 0,
                  "Subtask Id": 4294967295, "size(B)": 200_000, "bandwidth(GB/s)": 20.0, "operation": "host to device"}},
    ]
    assert [e["tid"] for e in bars(found, pid(14, 1))] == [3]
    labels = {e["pid"]: e["args"]["labels"] for e in found if e["name"] == "process_labels"}
    assert labels[pid(14)] == "NPU 0" and labels[pid(14, 1)] == "NPU 1"


def test_one_arrow_per_connection_from_the_launch_to_the_first_task(tmp_path: Path) -> None:
    rows = made()
    rows.api("aclmdlExecute", 0, 9, correlation=7)
    rows.api("launch", 2, 3, level="node", correlation=7)
    rows.api("aclrtMalloc", 10, 11)
    rows.api("aclrtCreateEvent", 12, 13, correlation=8)  # starts nothing on a device
    rows.task("kernel", 20, 21, name="second", correlation=7)
    rows.task("kernel", 18, 19, name="first", stream=4, correlation=7)
    rows.task("kernel", 30, 31, name="unknown caller", correlation=9)
    arrows = [e for e in events(rows, tmp_path) if e["ph"] in "sf"]
    same = {"name": f"HostToDevice{7 << 32}", "cat": "HostToDevice", "id": str(7 << 32)}
    assert arrows == [
        {**same, "ph": "s", "pid": HOST, "tid": PID, "ts": "1764246877000002.000"},
        {**same, "ph": "f", "bp": "e", "pid": pid(14), "tid": 4, "ts": "1764246877000018.000"},
    ]


def test_a_collective_takes_the_arrow_to_its_group_thread(tmp_path: Path) -> None:
    rows = made()
    rows.api("HcclAllReduce", 0, 1, correlation=3)
    rows.task("notify_wait", 4, 5, correlation=3)
    rows.comm("op", "hcom_broadcast__1_0_1", 1, 2, group="1")
    rows.comm("op", "hcom_allReduce__2_0_1", 4, 9, group="2", correlation=3)
    rows.comm("part", "", 5, 6, group="1", plane=1, part=0)
    head = next(e for e in events(rows, tmp_path) if e["ph"] == "f")
    # Group 1 takes thread 0, its plane 1 thread 2, so group 2 starts at 3.
    assert (head["pid"], head["tid"], head["ts"]) == (pid(16), 3, "1764246877000004.000")


def test_communication_has_a_thread_per_group_and_plane(tmp_path: Path) -> None:
    rows = made()
    rows.comm("op", "hcom_allReduce__586_0_1", 10, 20, group="586", correlation=3, count=1024, dtype="FP32",
              algorithm="MESH-RING")
    rows.comm("part", "", 11, 15, group="586", plane=0, part=0, src=0, dst=1, bytes=8_000, link="HCCS", transport="SDMA",
              stream=4, task_id=9)
    rows.comm("part", "RDMASend", 15, 16, group="586", plane=2, part=1, src=0, dst=1, notify=92)
    found = events(rows, tmp_path)
    threads = {e["tid"]: e["args"]["name"] for e in found if e["name"] == "thread_name" and e["pid"] == pid(16)}
    assert threads == {0: "Group 586 Communication", 1: "Plane 0", 3: "Plane 2"}
    operator, transfer, record = bars(found, pid(16))
    assert operator["args"] == {
        "connection_id": 3, "model id": 4294967295, "data_type": "FP32", "alg_type": "MESH-RING", "count": 1024,
    }
    assert (transfer["name"], transfer["tid"], transfer["dur"]) == ("Memcpy", 1, 4.0)
    assert transfer["args"] == {
        "notify_id": "18446744073709551615", "duration estimated(us)": 4.0, "stream id": 4, "task id": 9,
        "context id": 4294967295, "task type": "Memcpy", "src rank": 0, "dst rank": 1, "transport type": "SDMA",
        "size(Byte)": 8000, "data type": "INVALID_TYPE", "link type": "HCCS", "bandwidth(GB/s)": 2.0, "model id": 4294967295,
    }
    assert (record["name"], record["tid"], record["args"]["notify_id"]) == ("RDMASend", 3, "92")


def test_overlap_analysis_counts_time_once_and_leaves_copies_out(tmp_path: Path) -> None:
    rows = made()
    rows.task("kernel", 10, 20, name="a")
    rows.task("aicpu", 15, 25, name="b", stream=2)
    rows.task("copy", 26, 28)
    rows.task("kernel", 42, 44, name="reduce of the collective", correlation=3)
    rows.comm("op", "hcom_allReduce__1_0_1", 22, 24, group="1")
    rows.comm("op", "hcom_allReduce__1_1_1", 40, 50, group="1", correlation=3)
    shown = [(e["name"], e["tid"], e["ts"][-7:], e["dur"]) for e in bars(events(rows, tmp_path), pid(31))]
    assert shown == [
        ("Computing", 0, "010.000", 15.0), ("Communication", 1, "022.000", 2.0), ("Communication", 1, "040.000", 10.0),
        ("Communication(Not Overlapped)", 2, "040.000", 10.0), ("Free", 3, "025.000", 15.0),
    ]


def test_counters_go_to_the_layer_of_their_name_and_the_clock_is_always_there(tmp_path: Path) -> None:
    rows = made()
    rows.task("kernel", 5, 6, name="a")
    rows.counter("HBM 0/Read", 10, 812.5)
    rows.counter("APP/HBM", 10, 2048)
    rows.counter("power", 10, 90)
    found = [e for e in events(rows, tmp_path) if e["ph"] == "C"]
    assert [(e["name"], e["pid"], e["ts"][-7:], e["args"]) for e in found] == [
        ("HBM 0/Read", pid(24), "010.000", {"Read(MB/s)": 812.5}), ("APP/HBM", pid(17), "010.000", {"KB": 2048}),
        ("AI Core Freq", pid(15), "005.000", {"MHz": 1800}),
    ]


def test_a_sampled_clock_replaces_the_nominal_one_and_real_traces_get_none(tmp_path: Path) -> None:
    rows = made()
    rows.task("kernel", 5, 6, name="a")
    rows.meta["simulated"] = False
    assert not [e for e in events(rows, tmp_path) if e["ph"] == "C"]
    rows.meta["simulated"] = True
    rows.counter("AI Core Freq", 1, 800)
    (tmp_path / "sampled").mkdir()
    assert [e["args"] for e in events(rows, tmp_path / "sampled") if e["ph"] == "C"] == [{"MHz": 800}]


def test_names_with_quotes_and_chinese_survive(tmp_path: Path) -> None:
    rows = made()
    rows.task("kernel", 0, 1, name='算子"a"\\b', task_type="AI_CORE")
    assert bars(events(rows, tmp_path), pid(14))[0]["name"] == '算子"a"\\b'


def test_an_empty_trace_makes_no_file(tmp_path: Path) -> None:
    assert timeline_json.write(Trace(Path("empty")), tmp_path, "20261130120000") == []


def test_a_long_timeline_is_cut_into_arrays_that_hold_all_events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = made()
    for n in range(40):
        rows.api("aclrtMemcpy", n, n + 0.5)
    (whole,) = timeline_json.write(rows.trace(), tmp_path, "20261130120000")
    monkeypatch.setattr(timeline_json, "SLICE", 12)
    monkeypatch.setattr("profiler.export.columns.CHUNK", 10)
    cut = timeline_json.write(rows.trace(), tmp_path, "20261130120001")
    # 5 events that name the layer, then chunks of 10, of which one fits into a slice.
    assert [p.name for p in cut] == [f"msprof_slice_{n}_20261130120001.json" for n in range(5)]
    assert [len(json.loads(p.read_text())) for p in cut] == [5, 10, 10, 10, 10]
    assert [e for p in cut for e in json.loads(p.read_text())] == json.loads(whole.read_text())
