"""Files of switches that are off by default: links, media engine, L2 cache, AI CPU; figures worked out by hand."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

import profiler
from npu import soc
from profiler.export import aicpu, dvpp, l2_cache
from profiler.export.msprof import export_msprof
from profiler.samples import load, rates
from profiler.samples.sampler import sampled, series
from profiler.trace import Trace
from tests.made import Made

STAMP = "20261130120000"
ZERO = 1_764_246_877_000_000_000
MB = 1 << 20
MS = 1000.0  # us


def made(**collection: object) -> Made:
    rows = Made()
    rows.meta |= {
        "unix_zero_ns": ZERO, "pid": 4242, "generator": "npuscope", "soc": "Ascend910B3", "simulated": True,
        "collection": collection,
    }  # fmt: skip
    return rows


def lines(files: list[Path]) -> list[str]:
    (path,) = files
    return path.read_text().splitlines()


def values(trace: Trace, name: str) -> list[float]:
    rows = trace.counter["name"] == trace.strings.find(name)
    return [round(float(v), 6) for v in trace.counter["value"][rows]]


def copies() -> Made:
    """100 samples a second over 40 ms: 10 MB to the device from 5 to 15 ms, 6 MB back from 20 to 26 ms."""
    rows = made(sys_interconnection=True, sys_interconnection_freq=100)
    rows.task("copy", 0, 0.001, direction=3, bytes=5 * MB)  # within the device: not on the link
    rows.task("copy", 5 * MS, 15 * MS, direction=1, bytes=10 * MB)
    rows.task("copy", 20 * MS, 26 * MS, direction=2, bytes=6 * MB)
    rows.task("kernel", 39 * MS, 40 * MS, name="Add", read_bytes=8.0, write_bytes=8.0)
    for row in rows.rows["task"]:
        row |= {"read_bytes": row.get("read_bytes", float("nan")), "write_bytes": row.get("write_bytes", float("nan"))}
    return rows


def test_bytes_are_moved_evenly_over_the_time_of_a_task() -> None:
    start, end = np.array([0, 50, 90]), np.array([100, 150, 90])
    moved = np.array([100, 200, 7])
    assert rates.by(start, end, moved, np.array([0, 50, 100, 150, 400])).tolist() == [0, 50, 207, 307, 307]
    per_s = rates.rate(start, end, moved, np.array([0, 50])).tolist()
    assert per_s == [pytest.approx(50 / 50 * 1e9 / MB)]
    assert rates.by(start, end, np.zeros(3), np.array([0, 9])).tolist() == [0, 0]


def test_copies_to_the_device_come_in_as_completions_and_go_out_as_posted_writes() -> None:
    trace = sampled(copies().trace())
    assert values(trace, "PCIe_cpl/Rx") == [500, 500, 0, 0]  # 5 MB in each of two hundredths of a second
    assert values(trace, "PCIe_post/Tx") == [0, 0, 600, 0]
    assert values(trace, "PCIe_post/Rx") == [0] * 4 and trace.strings.find("HCCS/Tx") < 0


def test_link_files_timeline_and_database(tmp_path: Path) -> None:
    export_msprof(copies().trace(), tmp_path, datetime(2026, 11, 30, 12))
    folder = tmp_path / "mindstudio_profiler_output"
    assert lines([folder / f"pcie_{STAMP}.csv"]) == [
        "Device_id,Mode,Min,Max,Avg", "0,Tx_p_avg(MB/s),0,600,150", "0,Tx_np_avg(MB/s),0,0,0", "0,Tx_cpl_avg(MB/s),0,0,0",
        "0,Tx_latency_avg(us),0,0,0", "0,Rx_p_avg(MB/s),0,0,0", "0,Rx_np_avg(MB/s),0,0,0", "0,Rx_cpl_avg(MB/s),0,500,250",
    ]  # fmt: skip
    events = json.loads((folder / f"msprof_{STAMP}.json").read_text())
    sent = [e["args"] for e in events if e["name"] == "PCIe_post" and e["ph"] == "C"]
    assert sent == [{"Rx": 0, "Tx": 0}, {"Rx": 0, "Tx": 0}, {"Rx": 0, "Tx": 600}, {"Rx": 0, "Tx": 0}]
    with closing(sqlite3.connect(next(tmp_path.glob("msprof_*.db")))) as db:
        rows = db.execute("SELECT timestampNs, txPostMin, txPostMax, txPostAvg, rxCplAvg FROM PCIE ORDER BY 1").fetchall()
    assert [r[1:] for r in rows] == [(0, 0, 0, 500 * MB), (0, 0, 0, 500 * MB), (600 * MB,) * 3 + (0,), (0, 0, 0, 0)]
    assert rows[0][0] == ZERO + 10_000_000
    again = profiler.open(next(tmp_path.glob("msprof_*.db")))
    assert values(again, "PCIe_post/Tx") == [0, 0, 600, 0]


def exchange() -> Made:
    """Rank 1 of a job: an all_reduce in which it sends 4 MB, a broadcast it receives, a receive it fetches itself."""
    rows = made(sys_interconnection=True, sys_interconnection_freq=100)
    hccs = {"rank": 1, "link": "HCCS", "transport": "SDMA", "group": "g", "plane": 0}
    op = {"rank": 1, "group": "g"}
    rows.comm("op", "hcom_allReduce__1_0_1", 0, 10 * MS, bytes=8 * MB, op=0, **op)
    rows.comm("part", "Memcpy", 0, 10 * MS, bytes=4 * MB, op=0, src=1, dst=0, part=0, **hccs)
    rows.comm("part", "Memcpy", 0, 10 * MS, bytes=64 * MB, op=0, src=1, dst=1, part=0, **(hccs | {"link": "ON_CHIP"}))
    rows.comm("op", "hcom_broadcast__1_1_1", 10 * MS, 20 * MS, bytes=2 * MB, op=1, **op)
    rows.comm("part", "Notify_Wait", 10 * MS, 20 * MS, op=1, src=0, dst=1, part=2, **hccs)
    rows.comm("op", "hcom_receive__1_2_1", 20 * MS, 30 * MS, bytes=3 * MB, op=2, **op)
    rows.comm("part", "Memcpy", 20 * MS, 30 * MS, bytes=3 * MB, op=2, src=0, dst=1, part=0, **hccs)
    return rows


def test_what_a_rank_sends_and_receives_over_hccs(tmp_path: Path) -> None:
    trace = sampled(exchange().trace())
    assert values(trace, "HCCS/Tx") == [400, 0, 0]
    assert values(trace, "HCCS/Rx") == [400, 200, 300]
    export_msprof(trace, tmp_path, datetime(2026, 11, 30, 12))
    folder = tmp_path / "mindstudio_profiler_output"
    assert lines([folder / f"hccs_{STAMP}.csv"]) == [
        "Device_id,Mode,Max,Min,Average", "0,Tx(MB/s),400,0,133.333", "0,Rx(MB/s),400,200,300"]  # fmt: skip


def test_nobody_asked_for_samples() -> None:
    rows = copies()
    rows.meta["collection"] = {}
    trace = rows.trace()
    assert sampled(trace) is trace


def test_units_of_the_media_engine(tmp_path: Path) -> None:
    rows = made(dvpp=True)
    rows.task("dvpp", 0, 30, task_type="DVPP_VPC", name="resize")
    rows.task("dvpp", 40, 50, task_type="DVPP_VPC", name="crop")
    rows.task("dvpp", 50, 100, task_type="DVPP_JPEGD", name="decode")
    assert lines(dvpp.write(rows.trace(), tmp_path, STAMP)) == [
        "Device_id,Dvpp Id,Engine Type,Engine ID,All Time(us),All Frame,All Utilization(%)", "0,0,JPEGD,0,50,1,50", "0,0,VPC,0,40,2,40"]  # fmt: skip
    assert dvpp.write(made().trace(), tmp_path, STAMP) == []


def test_l2_hits_follow_from_what_a_kernel_touches(tmp_path: Path) -> None:
    """192 MiB of L2 (910B3): half of it stays, three quarters miss by half, what is larger than it comes from memory."""
    assert soc.find("Ascend910B3").l2 == 192 * MB
    rows = made(l2=True)
    for n, (name, touched) in enumerate((("Small", 96), ("Middle", 144), ("Large", 400), ("Unknown", float("nan")))):
        rows.task("kernel", 10 * n, 10 * n + 5, name=name, read_bytes=touched * MB - 10.0, write_bytes=10.0, stream=3)
    rows.task("copy", 90, 91, bytes=4, read_bytes=float("nan"), write_bytes=float("nan"))
    assert lines(l2_cache.write(rows.trace(), tmp_path, STAMP)) == [
        "Device_id,Stream Id,Task Id,Hit Rate,Victim Rate,Op Name", "0,3,0,1.0,0.0,Small", "0,3,1,0.5,0.5,Middle",
        "0,3,2,0.0,1.0,Large", "0,3,3,N/A,N/A,Unknown",
    ]  # fmt: skip


def test_an_ai_cpu_operator_is_dispatched_and_computed(tmp_path: Path) -> None:
    """100 us of dispatching whatever the size (the model of npu.cost.aicpu), the rest is computing."""
    rows = made(aicpu=True)
    rows.task("kernel", 0, 5, name="Add")
    rows.task("aicpu", 10, 190.5, name="Cast_1", stream=2)
    rows.task("aicpu", 200, 240, name="Cut", stream=2)
    assert lines(aicpu.write(rows.trace(), tmp_path, STAMP)) == [
        "Device_id,Timestamp(us),Node,Compute_time(us),Memcpy_time(us),Task_time(us),Dispatch_time(us),Total_time(us),Stream ID,Task ID",
        "0,1764246877000010.000\t,Cast_1,80.500,0.000,80.500,100.000,180.500,2,1",
        "0,1764246877000200.000\t,Cut,0.000,0.000,0.000,40.000,40.000,2,2",
    ]  # fmt: skip


@pytest.mark.parametrize(("switch", "file"), [("l2", "l2_cache"), ("aicpu", "aicpu"), ("dvpp", "dvpp")])
def test_these_files_are_written_only_when_asked_for(tmp_path: Path, switch: str, file: str) -> None:
    def names(**collection: object) -> set[str]:
        rows = made(**collection)
        rows.task("kernel", 0, 5, name="Add", read_bytes=1.0, write_bytes=1.0)
        rows.task("aicpu", 10, 190, name="Cast", read_bytes=1.0, write_bytes=1.0)
        rows.task("dvpp", 10, 190, name="Vpc", task_type="DVPP_VPC", read_bytes=1.0, write_bytes=1.0)
        folder = tmp_path / f"{len(collection)}"
        folder.mkdir()
        return {p.name.rpartition("_")[0] for p in export_msprof(rows.trace(), folder, datetime(2026, 11, 30, 12))}

    assert names(**{switch: True}) - names() == {file}


def test_load_and_power_follow_from_the_blocks_of_kernels() -> None:
    """910B3: 20 cube and 40 vector cores. Half of the cube cores for all of the first hundredth of a second, a MIX kernel on all of
    both for half of the second; a fully busy cube alone is 65 % of the way from idle to rated power."""
    chip = soc.find("Ascend910B3")
    rows = made()
    none = {"read_bytes": float("nan"), "write_bytes": float("nan")}
    rows.task("kernel", 0, 10 * MS, task_type="AI_CORE", block_dim=10, **none)
    rows.task("kernel", 10 * MS, 15 * MS, task_type="MIX_AIC", block_dim=20, mix_block_dim=40, **none)
    rows.task("kernel", 25 * MS, 30 * MS, task_type="AI_VECTOR_CORE", block_dim=40, **none)
    found = {name: values.tolist() for name, _, values in load.series(rows.trace(), 0, np.arange(4) * 10_000_000)}
    assert found[load.CUBE] == [pytest.approx(v) for v in (50, 50, 0)]
    assert found[load.VECTOR] == [pytest.approx(v) for v in (0, 50, 50)]
    assert chip.idle_power_w is not None and chip.tdp_w is not None
    idle, more = chip.idle_power_w, chip.tdp_w - chip.idle_power_w
    assert found[load.POWER] == [pytest.approx(idle + more * part, abs=0.06) for part in (0.325, 0.375, 0.05)]


def test_all_series_are_there_for_the_views_of_a_capture_of_ours_alone() -> None:
    rows = copies()
    rows.meta["collection"] = {}
    for row in rows.rows["task"]:
        row |= {"block_dim": 8, "task_type": "AI_VECTOR_CORE"}
    times = np.arange(5) * 10_000_000
    names = {s.name for s in series(rows.trace(), times)}
    assert {"APP/HBM", "HBM 0/Read", "PCIe_cpl/Rx", load.CUBE, load.POWER} <= names and "HCCS/Tx" not in names
    rows.meta["generator"] = "another"
    assert list(series(rows.trace(), times)) == []
