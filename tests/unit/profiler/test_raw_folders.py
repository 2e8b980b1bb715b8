"""Result folders nobody has exported yet: recognised by what lies in them, and what each of them lacks."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.commands.export import told
from profiler.read.raw_folders import find

PROF = "PROF_000001_20261202164829001_ABCDEFGHIJKLMNOP"


def made(folder: Path, *files: str) -> Path:
    for name in files:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"\0")
    return folder


def test_a_prof_folder_with_raw_files_and_end_files(tmp_path: Path) -> None:
    made(tmp_path / PROF, "host/data/a.slice_0", "host/end_info", "device_1/data/b.slice_0", "device_1/end_info.1")
    (found,) = find(tmp_path)
    assert (found.path, found.kind, found.exported, found.ended) == (tmp_path / PROF, "msprof", False, True)
    assert (found.devices, found.host) == ((1,), True)
    said = told(found, "en")
    assert said.lacking and "not exported" in said.what and "incomplete" not in said.what
    assert f"msprof --export=on --output={tmp_path / PROF}" in said.next


def test_a_collection_that_was_cut_off_is_incomplete(tmp_path: Path) -> None:
    made(tmp_path / PROF, "host/data/a.slice_0", "host/end_info", "device_1/data/b.slice_0")
    assert not find(tmp_path)[0].ended
    assert "incomplete" in told(find(tmp_path)[0], "en").what and "不完整" in told(find(tmp_path)[0], "zh").what


@pytest.mark.parametrize(
    "exported",
    [
        "mindstudio_profiler_output/op_summary_20261202164900.csv",
        "msprof_20261202164900.db",
        "device_0/summary/op_summary_0_1.csv",
    ],
)
def test_readable_files_in_any_layout_are_an_export(tmp_path: Path, exported: str) -> None:
    made(tmp_path / PROF, "host/data/a", "device_0/data/b", exported)
    (found,) = find(tmp_path / PROF)
    assert found.exported and not told(found, "en").lacking


def test_a_framework_folder_stands_for_its_prof_folders(tmp_path: Path) -> None:
    top = made(tmp_path / "host_1_2026_ascend_pt", "FRAMEWORK/torch.op_mark", f"{PROF}/device_0/data/a", f"{PROF}/host/data/b")
    (found,) = find(tmp_path)
    assert (found.path, found.kind, found.exported, found.ended, found.devices) == (top, "pt", False, False, (0,))
    said = told(found, "en")
    assert "incomplete" in said.what and "analyse(" in said.next and "schedule" in said.next
    made(top, "profiler_info_0.json", f"{PROF}/device_0/end_info.0", f"{PROF}/host/end_info")
    assert find(tmp_path)[0].ended
    made(top, "ASCEND_PROFILER_OUTPUT/trace_view.json")
    assert find(tmp_path)[0].exported


def test_one_side_alone_is_said(tmp_path: Path) -> None:
    made(tmp_path / PROF, "host/data/a", "host/end_info")
    assert "no device" in told(find(tmp_path)[0], "en").what


def test_empty_files_are_no_data(tmp_path: Path) -> None:
    made(tmp_path / PROF, "host/data/a")
    (tmp_path / PROF / "host/data/a").write_bytes(b"")
    assert "holds no profile data" in told(find(tmp_path)[0], "en").what


def test_captures_of_ours_and_other_folders_are_none(tmp_path: Path) -> None:
    made(tmp_path / PROF, "npuscope/meta.json", "host/info.json")
    made(tmp_path / "notes", "a.txt")
    assert find(tmp_path) == [] and find(tmp_path / "absent") == []


def test_result_folders_some_levels_down_are_found(tmp_path: Path) -> None:
    for node in ("node1", "node0"):
        made(tmp_path / "job" / node / PROF, "host/data/a.slice_0", "device_0/data/b.slice_0")
    assert [f.path.parent.name for f in find(tmp_path)] == ["node0", "node1"]


def test_a_framework_folder_without_a_prof_folder_lacks_the_device(tmp_path: Path) -> None:
    made(tmp_path / "h_1_20261202164829000_ascend_pt", "FRAMEWORK/torch.op_range", "profiler_info_0.json")
    (found,) = find(tmp_path)
    assert "no PROF_* folder" in told(found, "en").what and told(found, "en").lacking
