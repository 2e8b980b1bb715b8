"""Profile folders of all generations, parents with several ranks, raw and empty ones."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from npu import events
from profiler.analysis import analyze
from profiler.export.msprof import export_msprof
from profiler.read import open_trace
from profiler.trace import Trace, Unreadable
from tests.made import Made

PROF = "PROF_000001_20260605155111872_JDEKRCNERPBNJEGA"
HEADER = (
    "Device_id,Model ID,Task ID,Stream ID,Op Name,OP Type,OP State,Task Type,"
    "Task Start Time(us),Task Duration(us),Task Wait Time(us),Block Num"
)
TASK_TIME = "Device_id,kernel_name,kernel_type,stream_id,task_id,task_time(us),task_start(us),task_stop(us)"
TIMELINE = [
    {"ph": "M", "name": "process_name", "pid": 3, "tid": 0, "args": {"name": "Ascend Hardware"}},
    {"ph": "X", "name": "op", "pid": 3, "tid": 2, "ts": "10.000", "dur": 5, "args": {"Task Type": "AI_CORE", "Task Id": 1}},
]


def kernel(name: str, start: float, length: float = 5, device: int = 0, task: int = 1, kind: str = "AI_CORE") -> str:
    return f"{device},4294967295,{task},2,{name},{name},static,{kind},{start:.3f}\t,{length:.3f},0,8"


def write(path: Path, *lines: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")
    return path


def names(trace: Trace, table: str = "task") -> list[str]:
    return [trace.strings[int(n)] for n in getattr(trace, table)["name"]]


def lost(trace: Trace) -> str:
    return "\n".join(f"{m.what}: {m.why}" for m in trace.missing)


def test_the_newest_export_counts_with_all_its_slices(tmp_path: Path) -> None:
    output = tmp_path / PROF / "mindstudio_profiler_output"
    write(output / "op_summary_20260605160000.csv", HEADER, kernel("old", 1))
    write(output / "op_summary_slice_0_20260605170000.csv", HEADER, kernel("a", 10))
    write(output / "op_summary_slice_1_20260605170000.csv", HEADER, kernel("b", 20))
    write(output / "api_statistic_20260605160000.csv", "Device_id,Level,API Name,Time(us),Count", "host,acl,aclrtMalloc,5.000,2")
    trace = open_trace(tmp_path)
    assert names(trace) == ["a", "b"]
    assert "1 files of earlier exports" in lost(trace)
    assert trace.meta["tables"]["api_statistic"] == {
        "device": ["host"], "level": ["acl"], "name": ["aclrtMalloc"], "total": [5000], "count": [2],
    }  # fmt: skip


def test_slices_of_a_timeline_share_their_names(tmp_path: Path) -> None:
    output = tmp_path / PROF / "mindstudio_profiler_output"
    output.mkdir(parents=True)
    (output / "msprof_slice_0_20260605170000.json").write_text(json.dumps(TIMELINE))
    (output / "msprof_slice_1_20260605170000.json").write_text(json.dumps([TIMELINE[1] | {"ts": "20.000"}]))
    trace = open_trace(tmp_path / PROF)
    assert names(trace) == ["op", "op"] and trace.task["stream"].tolist() == [2, 2]


@pytest.mark.parametrize("stem", ["op_summary_1_1_1_20230605170000", "op_summary_1_1_20230605170000", "op_summary_1_1"])
def test_older_layouts_by_device(tmp_path: Path, stem: str) -> None:
    """CANN 6.3 to 7.0: device_N/summary and timeline; rows without Device_id are of their folder's device."""
    header, row = (line.partition(",")[2] for line in (HEADER, kernel("x", 5)))
    write(tmp_path / PROF / "device_1" / "summary" / f"{stem}.csv", header.replace("Block Num", "Block Dim"), row)
    write(
        tmp_path / PROF / "host" / "summary" / "api_statistic_20230605170000.csv",
        "Level,API Name,Time(us),Count",
        "acl,aclInit,1,1",
    )
    trace = open_trace(tmp_path)
    assert names(trace) == ["x"] and trace.task["device"].tolist() == [1] and trace.task["block_dim"].tolist() == [8]
    assert "api_statistic" in trace.meta["tables"]


def test_timeline_and_kernel_file_become_one_row(tmp_path: Path) -> None:
    output = tmp_path / PROF / "mindstudio_profiler_output"
    write(output / "op_summary_20260605170000.csv", HEADER, kernel("op", 10, kind="AI_VECTOR_CORE"), kernel("only_here", 30))
    (output / "msprof_20260605170000.json").write_text(json.dumps(TIMELINE))
    write(output / "task_time_20260605170000.csv", TASK_TIME, "0,op,KERNEL_AIVEC,2,1,5.000,10.000	,15.000	")
    trace = open_trace(tmp_path)
    assert names(trace) == ["op", "only_here"]
    assert [trace.strings[int(t)] for t in trace.task["task_type"]] == ["AI_VECTOR_CORE", "AI_CORE"]
    assert [trace.strings[int(t)] for t in trace.task["op_type"]] == ["op", "only_here"]


def test_task_time_alone(tmp_path: Path) -> None:
    path = write(
        tmp_path / "task_time_20260605170000.csv", TASK_TIME, "0,k,KERNEL_AICORE,2,1,5,10,15", "0,N/A,EVENT_RECORD,2,2,1,20,21"
    )
    trace = open_trace(path)
    assert names(trace) == ["k", "EVENT_RECORD"]
    assert [events.KINDS[k] for k in trace.task["kind"]] == ["kernel", "record"]


def test_communication_rows_of_both_generations(tmp_path: Path) -> None:
    rows = [kernel(f"hcom_allReduce__{n}", 10 * n, kind=kind) for n, kind in enumerate(("HCCL", "COMMUNICATION"))]
    trace = open_trace(write(tmp_path / "op_summary.csv", HEADER, *rows, kernel("k", 50)))
    assert names(trace) == ["k"] and names(trace, "comm") == ["hcom_allReduce__0", "hcom_allReduce__1"]


def test_units_of_memory_files(tmp_path: Path) -> None:
    write(
        tmp_path / "memory_record_1.csv",
        "Device_id,Component,Timestamp(us),Total Allocated(KB),Total Reserved(KB),Device",
        "0,GE,1.000\t,2,4,NPU:3",
    )
    trace = open_trace(tmp_path)
    assert trace.memory["allocated"].tolist() == [2048] and trace.memory["reserved"].tolist() == [4096]
    write(
        tmp_path / "memory_record_1.csv",
        "Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),Device Type",
        "GE,1.000\t,2,,NPU:3",
    )
    trace = open_trace(tmp_path)
    assert trace.memory["allocated"].tolist() == [2 << 20] and "reserved" not in trace.memory
    assert trace.memory["device"].tolist() == [3]


def test_ranks_become_parts_in_their_order(tmp_path: Path) -> None:
    for rank in (2, 10, 0):
        place = tmp_path / "node" / f"worker_{rank}_1_20260605155111872_ascend_pt"
        write(place / f"profiler_info_{rank}.json", json.dumps({"rank_id": str(rank), "config": {}}))
        write(place / "ASCEND_PROFILER_OUTPUT" / "step_trace_time.csv", "Step,Computing,Free", f"1,{rank},5")
    (tmp_path / "node" / "worker_3_1_20260605155111872_ascend_pt" / "FRAMEWORK").mkdir(parents=True)
    trace = open_trace(tmp_path)
    ranks = [trace, *trace.parts]
    assert [t.meta["rank"] for t in ranks] == [0, 2, 10]
    assert all(t.meta["ranks"] == [0, 2, 10] and t.meta["world_size"] == 3 for t in ranks)
    assert "raw data that was not exported" in lost(trace) and "analyse(" in lost(trace)


def test_a_mindspore_profile(tmp_path: Path) -> None:
    place = tmp_path / "rank_0_ascend_ms"
    write(
        place / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv",
        "Name,Type,Accelerator Core,Start Time(us),Duration(us),Block Dim",
        "a,A,AI_CORE,1,2,3",
    )
    trace = open_trace(place / "ASCEND_PROFILER_OUTPUT")
    assert trace.meta["generator"] == "mindspore" and names(trace) == ["a"] and trace.meta["rank"] == 0


def test_raw_data_says_which_command_exports_it(tmp_path: Path) -> None:
    (tmp_path / PROF / "device_0" / "data").mkdir(parents=True)
    (tmp_path / PROF / "device_0" / "data" / "stars_soc.data.0.slice_0").write_bytes(b"\0" * 64)
    with pytest.raises(Unreadable) as error:
        open_trace(tmp_path)
    assert "not exported" in error.value.what and "msprof --export=on --output=" in error.value.next


def test_an_empty_file_beside_a_good_one_is_named(tmp_path: Path) -> None:
    (tmp_path / "rank0.json").write_text(json.dumps({"traceEvents": TIMELINE, "distributedInfo": {"rank": 0}}))
    (tmp_path / "rank1.json").write_text("")
    (tmp_path / "rank2.json").write_text(json.dumps({"traceEvents": TIMELINE, "distributedInfo": {"rank": 2}}))
    trace = open_trace(tmp_path)
    assert [t.meta["rank"] for t in (trace, *trace.parts)] == [0, 2]
    assert "rank1.json is empty (0 bytes)" in lost(trace)


@pytest.mark.parametrize("make", ["nothing", "other", "zip", "missing", "text"])
def test_messages_say_what_is_there(tmp_path: Path, make: str) -> None:
    place = tmp_path / "x"
    expected = {
        "nothing": "is empty",
        "other": "it holds a.txt",
        "zip": "unpack it first",
        "missing": "there is no",
        "text": "no profile",
    }[make]
    if make in ("nothing", "other"):
        place.mkdir()
    if make == "other":
        (place / "a.txt").write_text("x")
    if make == "zip":
        place.write_bytes(b"PK\x03\x04rest")
    if make == "text":
        place.write_text("hello")
    with pytest.raises(Unreadable) as error:
        open_trace(place)
    assert expected in error.value.what and error.value.next


def test_unknown_tables_keep_their_headers(tmp_path: Path) -> None:
    output = tmp_path / PROF / "mindstudio_profiler_output"
    write(output / "hccs_20260605170000.csv", "Device_id,Mode,Max,Min,Average", "0,Tx (MB/s),5.5,N/A,2")
    table = open_trace(tmp_path).meta["tables"]["hccs"]
    assert table == {"Device_id": [0], "Mode": ["Tx (MB/s)"], "Max": [5.5], "Min": [None], "Average": [2]}


def test_a_damaged_database(tmp_path: Path) -> None:
    path = tmp_path / "msprof_20260605170000.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE TASK (startNs INTEGER, endNs INTEGER, deviceId INTEGER, taskType INTEGER)")
    connection.executemany("INSERT INTO TASK VALUES (?,?,0,1)", [(n, n + 5) for n in range(3000)])
    connection.commit()
    connection.close()
    assert len(open_trace(path).task) == 3000
    os.truncate(path, path.stat().st_size // 2)
    try:
        trace = open_trace(path)
    except Unreadable as error:
        assert path.name in error.what
    else:
        assert len(trace.task) < 3000 and "TASK" in lost(trace)


def made_trace() -> Trace:
    made = Made()
    for n in range(20):
        made.api("launch", 10 * n, 10 * n + 2, level="node", correlation=n)
        facts = {"in_shapes": "16,16;16", "in_dtypes": "FLOAT;FLOAT", "in_formats": "ND;ND", "out_shapes": "16,16"}
        facts |= {"out_dtypes": "FLOAT", "out_formats": "ND", "op_type": "MatMul", "task_type": "AI_CORE", "op_state": "static"}
        made.task("kernel", 10 * n + 4, 10 * n + 9, name=f"op_{n % 3}", correlation=n, task_id=n, block_dim=20, **facts)
    trace = made.trace()
    trace.meta["unix_zero_ns"] = 1_790_000_000_000_000_000
    return trace


def test_what_we_export_reads_back(tmp_path: Path) -> None:
    """Columns of an exported trace are those of the trace itself, text and database."""
    source = made_trace()
    prof = tmp_path / PROF
    prof.mkdir()
    export_msprof(source, prof)
    whole = open_trace(prof)
    database = tmp_path / "db"
    database.mkdir()
    for path in prof.glob("msprof_*.db"):
        shutil.copy(path, database)
    for trace in (whole, *([open_trace(database)] if any(database.iterdir()) else [])):
        assert names(trace) == names(source)
        zero = trace.meta["unix_zero_ns"] - source.meta["unix_zero_ns"]
        assert np.array_equal(trace.task["start"] + zero, source.task["start"])
        assert np.array_equal(trace.task["end"] + zero, source.task["end"])
        assert np.array_equal(trace.task["correlation"], source.task["correlation"])
        for name in ("op_type", "in_shapes", "in_dtypes", "out_formats"):
            own = [trace.strings[int(i)] for i in trace.task[name]]
            assert own == [source.strings[int(i)] for i in source.task[name]], name
        assert trace.task["block_dim"].tolist() == [20] * 20
        assert np.array_equal(np.sort(trace.api["start"]) + zero, np.sort(source.api["start"]))


def test_rows_without_a_start_are_listed_with_their_reason(tmp_path: Path) -> None:
    trace = open_trace(write(tmp_path / "op_summary_1.csv", "Device_id,Op Name,Task Duration(us)", "0,a,12.5", "0,b,2.5"))
    assert not trace.task
    assert ("2 rows of op_summary_1.csv", True) in [(m.what, "no start times" in m.why) for m in trace.missing]


def test_a_pointer_of_git_lfs_is_told_as_one(tmp_path: Path) -> None:
    write(tmp_path / "trace_view.json", "version https://git-lfs.github.com/spec/v1", "oid sha256:4d7a", "size 12345678")
    with pytest.raises(Unreadable) as refused:
        open_trace(tmp_path.rename(tmp_path.with_name("rank0_ascend_pt")))
    assert "pointer of Git LFS" in refused.value.what and "git lfs pull" in refused.value.next


def test_numbers_of_a_statistic_that_are_none_are_no_values(tmp_path: Path) -> None:
    """A header line in the middle, as files put together have it: its row has no count and no total."""
    head = "OP Type,Core Type,Count,Total Time(us),Min Time(us),Avg Time(us),Max Time(us),Ratio(%)"
    rows = ("MatMulV2,AI_CORE,200,24000.0,1,1,1,80", head, "Add,AI_VECTOR_CORE,300,6000.0,1,1,1,nan")
    table = open_trace(write(tmp_path / "op_statistic.csv", head, *rows)).meta["tables"]["op_statistic"]
    assert table["count"] == [200, None, 300] and table["share"] == [80, None, None]


def test_a_database_whose_tasks_have_no_key(tmp_path: Path) -> None:
    source = Path(__file__).parents[2] / "data/real/db/rank0_ascend_pt/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_0.db"
    path = Path(shutil.copy(source, tmp_path))
    with sqlite3.connect(path) as made:
        made.execute("ALTER TABLE TASK RENAME COLUMN globalTaskId TO gone")
    made.close()
    assert len(open_trace(path).comm)


def test_a_database_that_does_not_say_when_its_rows_end(tmp_path: Path) -> None:
    source = Path(__file__).parents[2] / "data/real/db/rank0_ascend_pt/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_0.db"
    path = Path(shutil.copy(source, tmp_path))
    with sqlite3.connect(path) as made:
        made.execute("ALTER TABLE COMMUNICATION_OP RENAME COLUMN endNs TO gone")
        made.execute("DELETE FROM COMMUNICATION_TASK_INFO")
    made.close()
    trace = open_trace(path)
    assert len(trace.task) and not trace.comm


def test_a_database_without_the_parts_of_collectives_can_be_judged(tmp_path: Path) -> None:
    source = Path(__file__).parents[2] / "data/real/db/rank0_ascend_pt/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_0.db"
    path = Path(shutil.copy(source, tmp_path))
    with sqlite3.connect(path) as made:
        made.execute("DROP TABLE COMMUNICATION_TASK_INFO")
    made.close()
    trace = open_trace(path)
    assert len(trace.comm) and set(trace.comm["part"].tolist()) == {-1}
    assert analyze(trace).source
