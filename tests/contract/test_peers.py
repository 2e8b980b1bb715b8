"""What we write is read by the tools it is meant for: Perfetto's trace processor, msprof-analyze, SQLite."""

from __future__ import annotations

import csv
import json
import sqlite3
import subprocess
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from profiler.convert.perfetto import export_perfetto
from profiler.export.msprof import export_msprof
from profiler.export.pmu import PIPES
from profiler.export.torch_npu import export_torch_npu
from profiler.trace import Trace
from tests.contract.peers import node, python_of
from tests.made import Made
from tests.unit.profiler.test_export_communication import part

pytestmark = [pytest.mark.peer, pytest.mark.slow]
NOW = datetime(2026, 11, 30, 12, 0, 0)
KERNELS = 200
COUNTERS = {name: 2000.0 if name.endswith("cycles") else 0.05 for name in PIPES}  # as every capture holds them


def job(rank: int = 0) -> Trace:
    """Back-to-back kernels at today's time, each launched by a call, every tenth followed by an all-reduce."""
    made = Made()
    made.meta |= {"unix_zero_ns": 1_764_246_877_000_000_000, "pid": 4000 + rank, "rank": rank, "ranks": [rank],
                  "host": {"hostname": f"node{rank}"}, "versions": {"cann": "8.3.RC1"}}  # fmt: skip
    for n in range(KERNELS):
        start = 100 + 0.12 * n + 5.0 * (n // 10)
        made.api("launch", 0.1 * n, 0.1 * n + 0.08, level="node", correlation=n)
        made.task("kernel", start, start + 0.1, name=f"MatMul_{n}", op_type="MatMul", task_type="AI_CORE", block_dim=20,
                  correlation=n, out_shapes="16,16", out_dtypes="FLOAT16", out_formats="ND",
                  in_shapes="16,16;16,16", in_dtypes="FLOAT16;FLOAT16", in_formats="ND;ND", op_state="dynamic",
                  **COUNTERS)  # fmt: skip
        if n % 10 == 9:
            op = n // 10
            made.comm("op", f"hcom_allReduce__1_{op}_1", start + 0.2, start + 4.2, group="10", op=op, correlation=1000 + op)
            common = {"group": "10", "op": op, "plane": 0, "link": "HCCS", "transport": "SDMA", "src": rank}
            made.comm("part", "", start + 0.3, start + 1.3, part=part("wait"), dst=1 - rank, **common)
            made.comm("part", "", start + 1.3, start + 3.3, part=part("transfer"), bytes=1_000_000, dst=1 - rank, **common)
    trace = made.trace()
    cycles = {n: trace.task[n].astype(float) for n in PIPES if n.endswith("cycles")}
    trace.task = trace.task.with_columns(**cycles)
    return trace


def ask(trace: Path, *queries: str) -> list[list[dict[str, Any]]]:
    node()
    words = [str(python_of("perfetto")), str(Path(__file__).with_name("ask_perfetto.py")), str(trace), *queries]
    ran = subprocess.run(words, capture_output=True, text=True, timeout=400)
    assert ran.returncode == 0, ran.stderr[-2000:]
    answers: list[list[dict[str, Any]]] = json.loads(ran.stdout.splitlines()[-1])
    return answers


def test_perfetto_takes_every_slice_and_arrow(tmp_path: Path) -> None:
    path = export_perfetto(job(), tmp_path, NOW)
    events = json.loads(path.read_text())["traceEvents"]
    errors, slices, arrows, kernels, tracks = ask(
        path,
        "select name, value from stats where severity in ('error', 'data_loss') and value > 0",
        "select count(*) n from slice",
        "select count(*) n from flow",
        "select ts, dur, depth from slice where name glob 'MatMul_*' order by ts",
        "select distinct p.name from process_track t join process p using (upid) union select name from process",
    )
    assert errors == []
    assert slices == [{"n": sum(e["ph"] == "X" for e in events)}]
    assert arrows == [{"n": KERNELS}] == [{"n": sum(e["ph"] == "s" for e in events)}]
    assert [k["dur"] for k in kernels] == [100] * KERNELS and {k["depth"] for k in kernels} == {0}
    first = kernels[0]["ts"]
    assert [k["ts"] - first for k in kernels] == [120 * n + 5000 * (n // 10) for n in range(KERNELS)]
    assert {"CANN", "Ascend Hardware", "HCCL"} <= {t["name"] for t in tracks}


@pytest.fixture(scope="module")
def two_ranks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ranks")
    for rank in (0, 1):
        export_torch_npu(job(rank), folder, NOW)
    return folder


def analyze(*words: str, cwd: Path) -> str:
    """What msprof-analyze says; it leaves with 0 after errors too, so its log lines are looked at."""
    tool = python_of("msprof-analyze").with_name("msprof-analyze")
    ran = subprocess.run([str(tool), *words], capture_output=True, text=True, timeout=400, cwd=cwd)
    said = ran.stdout + ran.stderr
    wrong = [line for line in said.splitlines() if "[ERROR]" in line or "Traceback" in line]
    assert ran.returncode == 0 and wrong == []
    return said


def test_the_advisor_reads_both_ranks(two_ranks: Path, tmp_path: Path) -> None:
    analyze("advisor", "all", "-d", str(two_ranks), "-o", str(tmp_path), cwd=tmp_path)
    assert list(tmp_path.rglob("mstt_advisor_*.html"))


def test_compare_counts_the_same_kernels(two_ranks: Path, tmp_path: Path) -> None:
    one, other = sorted(two_ranks.iterdir())
    analyze("compare", "-d", str(one), "-bp", str(other), "-o", str(tmp_path), cwd=tmp_path)
    assert list(tmp_path.rglob("performance_comparison_result_*.xlsx"))


def test_cluster_adds_up_both_ranks(two_ranks: Path, tmp_path: Path) -> None:
    analyze("cluster", "-m", "all", "-d", str(two_ranks), "-o", str(tmp_path), cwd=tmp_path)
    (steps,) = tmp_path.rglob("cluster_step_trace_time.csv")
    with steps.open(newline="") as file:
        rows = [r for r in csv.DictReader(file) if r["Type"] == "rank"]
    assert {r["Index"] for r in rows} == {"0", "1"}
    # 200 kernels of 0.1 us; 20 collectives of 4 us, nothing computed beside them
    assert {float(r["Computing"]) for r in rows} == {20.0} and {float(r["Communication(Not Overlapped)"]) for r in rows} == {80.0}
    (sums,) = tmp_path.rglob("cluster_communication.json")
    assert "hcom_allReduce__1_0_1@10" in sums.read_text()


def test_the_advisor_reads_the_plain_layout(tmp_path: Path) -> None:
    prof = tmp_path / "PROF_000001_20261130120000000_ABCDEFGHIJKLMNOP"
    prof.mkdir()
    export_msprof(job(), prof, NOW)
    analyze("advisor", "computation", "-d", str(prof), "-pt", "msprof", "-o", str(tmp_path / "out"), cwd=tmp_path)


def test_sqlite_joins_tasks_with_their_calls(tmp_path: Path) -> None:
    export_msprof(job(), tmp_path, NOW, only=("msprof_db",))
    (path,) = tmp_path.glob("msprof_*.db")
    with sqlite3.connect(path) as database:
        assert database.execute("pragma integrity_check").fetchall() == [("ok",)]
        (row,) = database.execute(
            "select count(*), sum(t.endNs - t.startNs) from TASK t join CANN_API a using (connectionId) "
            "join COMPUTE_TASK_INFO i using (globalTaskId)"
        )
    assert row == (KERNELS, KERNELS * 100)
