"""The database, table by table, from a trace whose rows can be worked out by hand."""

from __future__ import annotations

import csv
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import profiler
from profiler.export import database, msprof_db, pmu
from profiler.export.db_comm import operator_of
from profiler.trace import Columns, Trace
from tests.made import Made

ZERO = 1_764_246_877_000_000_000
PID = 4242
NONE = 4294967295
REAL = Path(__file__).parents[2] / "data" / "msprof-headers" / "db_columns.csv"


def made() -> Made:
    rows = Made()
    rows.meta |= {"unix_zero_ns": ZERO, "pid": PID, "ranks": [3], "threads": [PID, 4300], "host": {"hostname": "node-1"}}
    return rows


def busy() -> Trace:
    """A launch, a kernel with counters, a copy, a collective of two parts (one of them a task), memory, marks, counters."""
    rows = made()
    rows.api("aclrtMemcpyAsync", 0, 3, correlation=5)
    rows.api("aclnnAdd", 4, 9, correlation=6, thread=1)
    rows.api("launch", 5, 6, level="node", correlation=6, thread=1)
    rows.task("copy", 5, 9, correlation=5, direction=1, bytes=4096, stream=2)
    rows.task(
        "kernel",
        10,
        20,
        correlation=6,
        name="Add_1",
        op_type="Add",
        task_type="AI_VECTOR_CORE",
        block_dim=8,
        mix_block_dim=0,
        op_state="dynamic",
        in_shapes="16,16;16,16",
        in_dtypes="FLOAT;FLOAT",
        in_formats="ND;ND",
        out_shapes="16,16",
        out_dtypes="FLOAT",
        out_formats="ND",
        aiv_vec_ratio=0.25,
        aic_mac_ratio=float("nan"),
    )
    rows.task("notify_wait", 25, 27, stream=9, task_id=77)
    for row in rows.rows["task"]:
        row.setdefault("aiv_vec_ratio", float("nan"))
        row.setdefault("aic_mac_ratio", float("nan"))
    rows.comm(
        "op", "hcom_allReduce__586_0_1", 21, 40, group="g", correlation=8, count=16, dtype="FP32", algorithm="RING", device=0
    )
    rows.comm(
        "part", "Memcpy", 22, 24, group="g", part=0, plane=1, src=0, dst=1, bytes=64, link="HCCS", transport="SDMA", dtype="FP32"
    )
    rows.comm("part", "", 25, 27, group="g", part=2, plane=0, src=1, notify=12, stream=9, task_id=77, device=0)
    rows.memory("alloc", 1, 512, address=4096, allocated=512, reserved=1024, component="APP", site="a.py:3")
    rows.memory("free", 30, 512, address=4096, allocated=0, reserved=1024, component="APP")
    rows.memory("sample", 31, 0, reserved=2048, component="GE")
    rows.marker("range", "decode", 2, 12)
    rows.marker("mark", "here", 4, 4, thread=0)
    rows.counter("HBM 1/Read", 7, 2.0)
    rows.counter("APP/HBM", 7, 10)
    rows.counter("APP/DDR", 8, 3)
    rows.counter("power W", 7, 90)
    return rows.trace()


def written(trace: Trace, tmp_path: Path) -> sqlite3.Connection:
    folder = tmp_path / "mindstudio_profiler_output"
    folder.mkdir(exist_ok=True)
    (path,) = msprof_db.write(trace, folder, "20261130120000")
    assert path == tmp_path / "msprof_20261130120000.db"
    return sqlite3.connect(path)


@pytest.fixture
def db(tmp_path: Path) -> Any:
    with closing(written(busy(), tmp_path)) as connection:
        yield connection


def rows_of(db: sqlite3.Connection, table: str, *texts: str) -> list[tuple[Any, ...]]:
    """All rows of a table; the columns named in `texts` as the texts their ids stand for."""
    names = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
    shown = [f"(SELECT value FROM STRING_IDS WHERE id={n})" if n in texts else n for n in names]
    return db.execute(f"SELECT {','.join(shown)} FROM {table}").fetchall()


def at(us: float) -> int:
    return ZERO + round(us * 1000)


def test_tasks_and_where_their_parts_lie(db: sqlite3.Connection) -> None:
    assert rows_of(db, "TASK", "taskType") == [
        (at(5), at(9), 0, 5, 0, PID, "MEMCPY_ASYNC", NONE, 2, 0, NONE),
        (at(10), at(20), 0, 6, 1, PID, "KERNEL_AIVEC", NONE, 1, 1, NONE),
        (at(25), at(27), 0, NONE, 2, PID, "NOTIFY_WAIT", NONE, 9, 77, NONE),
        (at(22), at(24), 0, NONE, 3, PID, "Memcpy", NONE, 0, 0, NONE),  # a part that is no task of the trace
    ]
    assert rows_of(db, "MEMCPY_INFO") == [(0, 4096, 1)]
    assert rows_of(db, "ENUM_MEMCPY_OPERATION")[1] == (1, "host to device")


def test_what_a_kernel_computed(db: sqlite3.Connection) -> None:
    texts = (
        "name",
        "taskType",
        "opType",
        "inputFormats",
        "inputDataTypes",
        "inputShapes",
        "outputFormats",
        "outputDataTypes",
        "outputShapes",
        "attrInfo",
        "opState",
        "hf32Eligible",
    )
    assert rows_of(db, "COMPUTE_TASK_INFO", *texts) == [
        (
            "Add_1",
            1,
            8,
            0,
            "AI_VECTOR_CORE",
            "Add",
            "ND;ND",
            "FLOAT;FLOAT",
            '"16,16;16,16"',
            "ND",
            "FLOAT",
            '"16,16"',
            "N/A",
            "dynamic",
            "N/A",
        )
    ]


def test_counters_of_a_kernel_are_zero_for_the_core_that_took_no_part(db: sqlite3.Connection) -> None:
    assert rows_of(db, "TASK_PMU_INFO", "name") == [(1, "aic_mac_ratio", 0), (1, "aiv_vec_ratio", 0.25)]


def test_each_call_has_a_number_of_its_own_and_the_launching_one_that_of_its_tasks(db: sqlite3.Connection) -> None:
    assert rows_of(db, "CANN_API", "name") == [
        (at(0), at(3), 20000, PID << 32 | PID, 5, "aclrtMemcpyAsync"),
        (at(5), at(6), 10000, PID << 32 | 4300, 6, "launch"),
        (at(4), at(9), 20000, PID << 32 | 4300, 10, "aclnnAdd"),  # 9 + its row; correlations end at 8
    ]


def test_collectives_and_their_parts(db: sqlite3.Connection) -> None:
    assert rows_of(db, "COMMUNICATION_OP", "opName", "groupName", "algType", "opType") == [
        ("hcom_allReduce__586_0_1", at(21), at(40), 8, "g", 0, 0, 0, 4, "RING", 16, "hcom_allReduce_", 0)
    ]
    assert rows_of(db, "COMMUNICATION_TASK_INFO", "name", "taskType", "groupName") == [
        # 64 bytes in 2 us = 32e6 bytes/s
        ("hcom_allReduce__586_0_1", 3, "Memcpy", 1, "g", (1 << 63) - 1, 65535, 0, 1, 0, 64, 4, 1, 0, 0, 32_000_000),
        ("hcom_allReduce__586_0_1", 2, "Notify_Wait", 0, "g", 12, 65535, 1, NONE, 65535, 0, 65535, 65535, 0, 1, 0),
    ]


def test_memory(db: sqlite3.Connection) -> None:
    assert rows_of(db, "NPU_OP_MEM", "operatorName", "type", "component") == [
        ("a.py:3", 4096, "allocate", 512, at(1), PID << 32 | PID, 512, 1024, "APP", 0),
        ("N/A", 4096, "release", 512, at(30), PID << 32 | PID, 0, 1024, "APP", 0),
    ]
    assert rows_of(db, "NPU_MODULE_MEM") == [(45, at(31), 2048, 0)]


def test_counters_fill_the_columns_their_names_mean(db: sqlite3.Connection) -> None:
    assert rows_of(db, "HBM", "type") == [(0, at(7), 2 << 20, 1, "read")]
    assert rows_of(db, "NPU_MEM", "type") == [("app", 0, 10 << 10, at(7), 0), ("app", 3 << 10, 0, at(8), 0)]
    assert rows_of(db, "AICORE_FREQ") == [(0, at(0), 1800)]  # no samples: the simulated chip's nominal clock


def test_marks(db: sqlite3.Connection) -> None:
    assert rows_of(db, "MSTX_EVENTS", "message", "domainId") == [
        (at(2), at(12), 2, NONE, NONE, "decode", PID << 32 | PID, PID << 32 | PID, "default", NONE),
        (at(4), at(4), 0, NONE, NONE, "here", PID << 32 | PID, PID << 32 | PID, "default", NONE),
    ]


def test_overlap(db: sqlite3.Connection) -> None:
    # Computing 10..20, communication 21..40 and all of it uncovered, free 20..21.
    assert rows_of(db, "OVERLAP_ANALYSIS") == [
        (1, 0, at(10), at(20), 0),
        (2, 0, at(21), at(40), 1),
        (3, 0, at(21), at(40), 2),
        (4, 0, at(20), at(21), 3),
    ]


def test_facts_of_the_run(db: sqlite3.Connection) -> None:
    assert rows_of(db, "NPU_INFO") == [(0, "Ascend910B")]
    assert rows_of(db, "RANK_DEVICE_MAP") == [(3, 0)]
    assert rows_of(db, "HOST_INFO")[0][1] == "node-1"
    assert rows_of(db, "SESSION_TIME_INFO") == [(ZERO, at(40))]
    assert ("SCHEMA_VERSION_MAJOR", "1") in rows_of(db, "META_DATA")


def test_a_scheduling_kernel_of_a_collective_is_no_compute_task(tmp_path: Path) -> None:
    rows = made()
    rows.comm("op", "hcom_allReduce__1_0_1", 1, 9, correlation=4)
    rows.task("aicpu", 1, 2, name="hcomAicpuKernel", op_type="Kfc", correlation=4)
    with closing(written(rows.trace(), tmp_path)) as db:
        assert rows_of(db, "COMMUNICATION_SCHEDULE_TASK_INFO", "name", "taskType", "opType") == [
            ("hcomAicpuKernel", 0, "AI_CPU", "Kfc")
        ]
        tables = {n for (n,) in db.execute("SELECT name FROM sqlite_master")}
    assert "COMPUTE_TASK_INFO" not in tables and "MEMCPY_INFO" not in tables


def test_parts_go_to_the_last_operator_of_their_group_that_began() -> None:
    ops = Columns(
        {"start": np.array([10, 20, 15]), "device": np.zeros(3, int), "group": np.array([1, 1, 2]), "name": np.arange(3)}
    )
    parts = Columns({"start": np.array([25, 10, 9, 16]), "device": np.zeros(4, int), "group": np.array([1, 1, 1, 2])})
    assert operator_of(ops, parts).tolist() == [1, 0, -1, 2]


def test_columns_are_those_of_a_real_file_in_their_order() -> None:
    real: dict[str, list[str]] = {}
    for row in csv.DictReader(REAL.read_text().splitlines()):
        real.setdefault(row["table"], []).append(row["column"])
    enums = {t for t in real if t.startswith("ENUM_")}
    ours = {t: [n for n, _ in columns] for t, columns in database.schema().items()}
    for table in ours.keys() & real.keys():
        assert ours[table][: len(real[table])] == real[table], table  # later generations add columns at the end
    # Tables of counters that the simulated chip does not have and no trace column holds.
    assert real.keys() - enums - ours.keys() == {"ACC_PMU", "SOC_BANDWIDTH_LEVEL"}


def test_counter_names_in_the_database() -> None:
    made = pmu.database_names(("aicore_time(us)", "aic_mac_ratio", "aiv_vec_time(us)", "cube_utilization(%)", "aiv_total_cycles"))
    assert made == [
        ("aicore_time(us)", "aic_total_time", 1000.0),
        ("aic_mac_ratio", "aic_mac_ratio", 1.0),
        ("aiv_vec_time(us)", "aiv_vec_time", 1000.0),
        ("aiv_total_cycles", "aiv_total_cycles", 1.0),
    ]


def test_nothing_is_left_of_a_file_that_failed(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with pytest.raises(sqlite3.IntegrityError), database.whole_database(path) as made:
        made.facts("STRING_IDS", [(1, "a"), (1, "b")])
    assert list(tmp_path.iterdir()) == []
    path.touch()
    with pytest.raises(FileExistsError), database.whole_database(path):
        raise AssertionError("never entered")


def test_a_full_disk_is_an_os_error_with_the_path(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with pytest.raises(OSError, match="full") as told, database.whole_database(path) as made:
        made.connection.execute("PRAGMA max_page_count=2")
        made.insert("TASK_PMU_INFO", np.arange(100_000), 1, 2)
    assert told.value.filename == str(path) and list(tmp_path.iterdir()) == []


def test_nothing_happened_no_file(tmp_path: Path) -> None:
    assert msprof_db.write(Trace(Path("nothing")), tmp_path, "20261130120000") == []


def test_the_reader_of_databases_gets_the_trace_back(tmp_path: Path) -> None:
    trace = busy()
    written(trace, tmp_path).close()
    (path,) = tmp_path.glob("msprof_*.db")
    read = profiler.open(path)
    assert sorted(read.strings[n] for n in read.api["name"]) == ["aclnnAdd", "aclrtMemcpyAsync", "launch"]
    kernel = read.task.take(read.tasks_of("kernel"))
    assert (kernel["end"] - kernel["start"]).tolist() == [10_000] and kernel["aiv_vec_ratio"].tolist() == [0.25]
    copy = read.task.take(read.tasks_of("copy"))
    assert (copy["bytes"].tolist(), copy["direction"].tolist()) == ([4096], [1])
    tail = read.api["correlation"][read.api_named("launch")]
    assert tail.tolist() == kernel["correlation"].tolist()
