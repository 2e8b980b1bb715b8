"""Which executable counts as the real tool."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cli import real_tool


def executable(path: Path, mode: int = 0o755) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(mode)
    return path


@pytest.fixture
def ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    script = executable(tmp_path / "venv" / "bin" / "npu-smi")
    monkeypatch.setattr("sys.argv", [str(script), "info"])
    monkeypatch.setattr("sys.prefix", str(tmp_path / "venv"))
    return script


def path_of(monkeypatch: pytest.MonkeyPatch, *folders: Path) -> None:
    monkeypatch.setenv("PATH", os.pathsep.join(map(str, folders)))


def test_the_next_one_counts(tmp_path: Path, ours: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, after = executable(tmp_path / "a" / "npu-smi"), executable(tmp_path / "b" / "npu-smi")
    path_of(monkeypatch, before.parent, ours.parent, after.parent)
    assert real_tool.next_on_path("npu-smi") == str(after)


def test_links_to_ourselves_are_ourselves(tmp_path: Path, ours: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("first", "last"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "npu-smi").symlink_to(ours)
    real = executable(tmp_path / "real" / "npu-smi")
    path_of(monkeypatch, tmp_path / "first", ours.parent, tmp_path / "last", real.parent)
    assert real_tool.next_on_path("npu-smi") == str(real)


def test_what_cannot_be_run_does_not_count(tmp_path: Path, ours: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "folder" / "npu-smi").mkdir(parents=True)
    text = executable(tmp_path / "text" / "npu-smi", 0o644)
    path_of(monkeypatch, ours.parent, tmp_path / "folder", text.parent, tmp_path / "absent")
    assert real_tool.next_on_path("npu-smi") is None


def test_called_by_full_path_the_first_other_one_counts(tmp_path: Path, ours: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = executable(tmp_path / "real" / "npu-smi")
    path_of(monkeypatch, real.parent)
    assert real_tool.next_on_path("npu-smi") == str(real)


def test_two_installations_of_ours_end_at_the_real_tool(tmp_path: Path, ours: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    second, real = executable(tmp_path / "other" / "bin" / "npu-smi"), executable(tmp_path / "real" / "npu-smi")
    path_of(monkeypatch, ours.parent, second.parent, real.parent)
    assert real_tool.next_on_path("npu-smi") == str(second)
    monkeypatch.setattr("sys.argv", [str(second)])
    monkeypatch.setattr("sys.prefix", str(tmp_path / "other"))
    assert real_tool.next_on_path("npu-smi") == str(real)


def test_the_driver_is_its_device_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(real_tool, "DRIVER_NODE", str(tmp_path / "davinci_manager"))
    assert not real_tool.real_driver()
    (tmp_path / "davinci_manager").touch()
    assert real_tool.real_driver()
