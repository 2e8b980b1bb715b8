"""The log of a process: where it lies, how a line looks, what is kept, how files go on."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diag.log_files import LogFile
from diag.plog import Counted, parsed
from npu.plog import file
from npu.plog.line import LONGEST, encoded, file_stamp, stamp
from npu.plog.log import ProcessLog
from npu.plog.settings import DEBUG, ERROR, EVENT, INFO, NULL, WARNING, Settings

MOMENT = 1_764_500_000_123_456_789  # unix ns


def log(tmp_path: Path, **env: str) -> ProcessLog:
    return ProcessLog(Settings.of({"ASCEND_PROCESS_LOG_PATH": str(tmp_path / "log"), **env}), 4711, lambda: MOMENT)


def files(tmp_path: Path) -> list[str]:
    return sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*.log"))


def test_a_line_has_the_real_form() -> None:
    line = encoded(ERROR, "RUNTIME", 4711, "python3", MOMENT, "x.py:7", "99 text").decode()
    assert line == f"[ERROR] RUNTIME(4711,python3):{stamp(MOMENT)} [x.py:7]99 text\n"
    assert re.fullmatch(r"\d{4}-\d\d-\d\d-\d\d:\d\d:\d\d\.123\.456", stamp(MOMENT))
    assert stamp(MOMENT).startswith(time.strftime("%Y-%m-%d-%H:%M:%S", time.localtime(MOMENT // 10**9)))
    assert re.fullmatch(r"\d{14}123", file_stamp(MOMENT))


@given(st.text(max_size=3000), st.text(alphabet="abc中é ", max_size=20))
def test_no_line_is_longer_than_1023_bytes_and_nothing_is_lost(text: str, process: str) -> None:
    data = encoded(WARNING, "GE", 1, process, MOMENT, "x.py:7", text.replace("\n", " "))
    head = f"[WARNING] GE(1,{process}):{stamp(MOMENT)} [x.py:7]".encode()
    lines = data.split(b"\n")
    assert lines.pop() == b""
    assert all(len(line) <= LONGEST and line.startswith(head) for line in lines)
    assert b"".join(line[len(head) :] for line in lines) == text.replace("\n", " ").encode("utf-8", "replace")
    for line in lines:
        line.decode()  # cut between characters


@pytest.mark.parametrize(
    ("env", "folder"),
    [
        ({"HOME": "/h"}, "/h/ascend/log"),
        ({"HOME": "/h", "ASCEND_WORK_PATH": "/w"}, "/w/log"),
        ({"HOME": "/h", "ASCEND_WORK_PATH": "/w", "ASCEND_PROCESS_LOG_PATH": "/p"}, "/p"),
    ],
)
def test_where_the_log_lies(env: dict[str, str], folder: str) -> None:
    assert Settings.of(env).folder == folder


def test_nothing_is_made_before_the_first_line_and_kinds_lie_apart(tmp_path: Path) -> None:
    made = log(tmp_path)
    made(WARNING, "RUNTIME", "not kept at the usual level")
    assert not (tmp_path / "log").exists()
    made(ERROR, "RUNTIME", "one")
    made(EVENT, "RUNTIME", "two")
    made.device(3, ERROR, "TS", "", "three", "x:1")
    name = f"4711_{file_stamp(MOMENT)}.log"
    assert files(tmp_path) == [
        f"log/debug/device-3/device-{name}", f"log/debug/plog/plog-{name}", f"log/run/plog/plog-{name}",
    ]  # fmt: skip
    assert (tmp_path / "log/debug/plog" / f"plog-{name}").read_text().startswith("[ERROR] RUNTIME(4711,")
    assert "[EVENT] RUNTIME" in (tmp_path / "log/run/plog" / f"plog-{name}").read_text()


@pytest.mark.parametrize(
    ("env", "kept"),
    [
        ({}, {ERROR, EVENT}),
        ({"ASCEND_GLOBAL_LOG_LEVEL": "1"}, {INFO, WARNING, ERROR, EVENT}),
        ({"ASCEND_GLOBAL_LOG_LEVEL": "4"}, {EVENT}),
        ({"ASCEND_GLOBAL_LOG_LEVEL": "7"}, {ERROR, EVENT}),
        ({"ASCEND_GLOBAL_EVENT_ENABLE": "0"}, {ERROR}),
        ({"ASCEND_MODULE_LOG_LEVEL": "GE=0:RUNTIME=2"}, {WARNING, ERROR, EVENT}),
        ({"ASCEND_GLOBAL_LOG_LEVEL": "0", "ASCEND_MODULE_LOG_LEVEL": "RUNTIME=4"}, {EVENT}),
        ({"ASCEND_MODULE_LOG_LEVEL": "RUNTIME=2:GE"}, {ERROR, EVENT}),  # one wrong part voids the value
        ({"ASCEND_MODULE_LOG_LEVEL": "RUNTIME=2;GE=1"}, {ERROR, EVENT}),
    ],
)
def test_levels(env: dict[str, str], kept: set[int]) -> None:
    settings = Settings.of(env)
    assert {level for level in (DEBUG, INFO, WARNING, ERROR, EVENT) if settings.passes(level, "RUNTIME")} == kept
    assert NULL == 4


@pytest.mark.parametrize("name", ["ASCEND_LOG_PRINT_TO_STDOUT", "ASCEND_SLOG_PRINT_TO_STDOUT"])
def test_the_stdout_switch_writes_no_file(name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    log(tmp_path, **{name: "1"})(ERROR, "GE", "shown")
    assert capfd.readouterr().out.endswith("shown\n") and files(tmp_path) == []


def test_the_new_name_of_the_stdout_switch_wins() -> None:
    assert not Settings.of({"ASCEND_LOG_PRINT_TO_STDOUT": "0", "ASCEND_SLOG_PRINT_TO_STDOUT": "1"}).stdout


@pytest.mark.parametrize(("written", "files"), [("3", 3), ("", 10), ("0", 10), ("1001", 10), ("x", 10), ("1000", 1000)])
def test_the_number_of_files(written: str, files: int) -> None:
    assert Settings.of({"ASCEND_HOST_LOG_FILE_NUM": written}).files == files


def test_a_full_file_is_followed_by_a_new_one_and_the_oldest_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file, "MOST_BYTES", 300)
    made = log(tmp_path, ASCEND_HOST_LOG_FILE_NUM="2")
    for number in range(10):
        made(ERROR, "GE", f"line {number} " + "x" * 40)
    found = sorted((tmp_path / "log/debug/plog").iterdir())
    assert len(found) == 2 and all(p.stat().st_size <= 300 for p in found)
    told = [line.split(" line ")[1][0] for p in found for line in p.read_text().splitlines()]
    assert told == sorted(told) and told[-1] == "9" and told[0] != "0"  # files of one process are ordered by their names


def test_a_folder_that_cannot_be_written_is_told_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "log").write_text("a file")
    made = log(tmp_path)
    made(ERROR, "GE", "one")
    made(ERROR, "GE", "two")
    told = capsys.readouterr().err
    assert told.count("no log can be written") == 1 and "set ASCEND_PROCESS_LOG_PATH to a folder of yours" in told


def test_our_own_reader_understands_every_line(tmp_path: Path) -> None:
    made = log(tmp_path)
    made(ERROR, "HCCL", "something failed")
    (path,) = (tmp_path / "log/debug/plog").iterdir()
    (line,) = parsed(LogFile(path, path.name), Counted())
    assert (line.level, line.module, line.pid, line.where) == ("ERROR", "HCCL", 4711, "acl")
    assert line.text.endswith("something failed") and line.time is not None
