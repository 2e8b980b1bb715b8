"""The folder an export leaves: names, stamps, whole files, facts about host and devices."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

import pytest

from profiler.export import msprof
from profiler.export.files import whole
from profiler.trace import Trace
from tests.made import Made

NOW = datetime(2026, 11, 30, 23, 59, 59)


def trace() -> Trace:
    rows = Made()
    rows.meta |= {"unix_zero_ns": 1_764_246_877_000_000_000, "pid": 4242, "command": "python infer.py --n 3", "ranks": [2],
                  "versions": {"driver": "25.5.0", "cann": "8.3.RC1"}, "host": {"hostname": "node-1", "cpus": 8}}
    rows.api("aclrtMemcpy", 0, 5)
    rows.task("kernel", 10, 20, name="Add_1", op_type="Add", task_type="AI_VECTOR_CORE")
    rows.task("kernel", 10, 25, device=3, name="Add_1", op_type="Add", task_type="AI_VECTOR_CORE")
    return rows.trace()


def names(folder: Path) -> list[str]:
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def test_the_real_layout_with_one_stamp(tmp_path: Path) -> None:
    files = msprof.export_msprof(trace(), tmp_path, NOW)
    assert sorted(str(f.relative_to(tmp_path)) for f in files) == names(tmp_path) == sorted([
        "host/info.json", "host/sample.json", "host/start_info", "host/end_info",
        "device_0/info.json.0", "device_0/sample.json", "device_0/start_info.0", "device_0/end_info.0",
        "device_3/info.json.3", "device_3/sample.json", "device_3/start_info.3", "device_3/end_info.3",
        "msprof_20261130235959.db",
        *(f"mindstudio_profiler_output/{n}" for n in (
            "msprof_20261130235959.json", "op_summary_20261130235959.csv", "op_statistic_20261130235959.csv",
            "api_statistic_20261130235959.csv", "task_time_20261130235959.csv", "README.txt")),
    ])


def test_a_second_export_of_the_same_second_takes_the_next_and_changes_nothing(tmp_path: Path) -> None:
    first = [f for f in msprof.export_msprof(trace(), tmp_path, NOW) if "20261130235959" in f.name]
    before = {f: f.read_bytes() for f in first}
    second = msprof.export_msprof(trace(), tmp_path, NOW)
    assert {f: f.read_bytes() for f in first} == before
    assert "op_summary_20261201000000.csv" in {f.name for f in second}
    assert not {"info.json", "info.json.0"} & {f.name for f in second}  # facts of the capture are written once


def test_facts_of_a_real_capture_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "host").mkdir()
    (tmp_path / "host" / "info.json").write_text("real")
    msprof.export_msprof(trace(), tmp_path, NOW)
    assert (tmp_path / "host" / "info.json").read_text() == "real"


def test_progress_counts_formats(tmp_path: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    msprof.export_msprof(trace(), tmp_path, NOW, lambda *step: seen.append(step))
    names = ("msprof", "op_summary", "op_statistic", "api_statistic", "task_time", "communication_statistic", "step_trace",
             "step_trace_json", "fusion_op", "msprof_tx", "msprof_tx_json", "memory_record", "operator_memory", "static_op_mem", "npu_mem",
             "npu_module_mem", "hbm", "hccs", "pcie", "msprof_db")
    assert seen == [(name, number, 20) for number, name in enumerate(names, 1)]


def test_the_readme_names_what_was_written(tmp_path: Path) -> None:
    rows = Made()
    rows.api("aclInit", 0, 1)
    msprof.export_msprof(rows.trace(), tmp_path, NOW)
    text = (tmp_path / msprof.OUTPUT / "README.txt").read_text()
    assert "api_statistic:" in text and "msprof:" in text and "op_summary:" not in text


def test_no_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        msprof.export_msprof(trace(), tmp_path / "PROF_none", NOW)


def test_info_json_tells_chip_process_and_rank(tmp_path: Path) -> None:
    msprof.export_msprof(trace(), tmp_path, NOW)
    info = json.loads((tmp_path / "device_3" / "info.json.3").read_text())
    assert (info["pid"], info["pid_name"], info["rank_id"], info["devices"]) == ("4242", "python", 2, "3")
    assert (info["drvVersion"], info["cannVersion"], info["hostname"]) == ("25.5.0", "8.3.RC1", "node-1")
    assert info["platform_version"] == "5"
    chip = info["DeviceInfo"][0]
    assert (chip["id"], chip["ai_core_num"], chip["aiv_num"], chip["aic_frequency"]) == (3, 20, 40, "1800")
    assert json.loads((tmp_path / "host" / "info.json").read_text())["devices"] == "0,3"


def test_start_and_end_are_unix_microseconds(tmp_path: Path) -> None:
    msprof.export_msprof(trace(), tmp_path, NOW)
    start, end = (json.loads((tmp_path / "host" / n).read_text()) for n in ("start_info", "end_info"))
    assert (start["collectionTimeBegin"], start["collectionTimeEnd"]) == ("1764246877000000", "")
    assert (end["collectionTimeEnd"], end["clockMonotonicRaw"]) == ("1764246877000025", "25000")


def test_a_file_is_whole_or_absent(tmp_path: Path) -> None:
    path = tmp_path / "op_summary.csv"
    with pytest.raises(OSError, match="disk full"), whole(path) as out:
        out.write("half a li")
        raise OSError("disk full")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_there_is_not_overwritten_unless_told(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("old")
    with pytest.raises(FileExistsError), whole(path) as out:
        out.write("new")
    assert path.read_text() == "old"
    with whole(path, replace=True) as out:
        out.write("new")
    assert path.read_text() == "new" and len(list(tmp_path.iterdir())) == 1
