"""`npu-diag log` and `npu-diag hang` as people run them: text, languages, JSON, exit codes."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = Path(sys.executable).with_name("npu-diag")
SAMPLES = Path(__file__).parents[1] / "data/plog"


def diag(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    env = {k: v for k, v in os.environ.items() if k not in ("LC_ALL", "LC_MESSAGES", "LANG", "NPUSCOPE_DEBUG")}
    return subprocess.run([COMMAND, *arguments], capture_output=True, text=True, env=env, encoding="utf-8")


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    """Two ranks: one could not listen, the other waited."""
    folder = tmp_path / "job"
    shutil.copytree(SAMPLES / "03-hccl-ei0006", folder, ignore=shutil.ignore_patterns("expected.json"))
    return folder


def test_verdict_first_then_what_followed_then_what_to_do(sample: Path) -> None:
    done = diag("log", sample)
    lines = done.stdout.splitlines()
    assert done.returncode == 1 and done.stderr == ""
    assert lines[0] == "Cause: a rank could not listen on its port: the port is in use [hccl_listen_port_in_use]"
    where = next(line for line in lines if line.startswith("  where: "))
    assert where.endswith(".log:1, 2025-09-14 22:10:56.970214, HCCL, pid 518202, rank 1")
    headings = [line for line in lines if not line.startswith(" ") and line.endswith(":")]
    assert headings == ["What followed (not the cause):", "Codes in the log:", "What to do:", "Commands:",
                        "Collect next if that does not help:"]  # fmt: skip
    assert "  9 HCCL_E_TIMEOUT: time-out" in lines
    assert any("Free port 17007" in line for line in lines)


def test_chinese(sample: Path) -> None:
    lines = diag("log", sample, "--lang", "zh").stdout.splitlines()
    assert lines[0] == "原因: 某个 rank 无法监听其端口：端口被占用 [hccl_listen_port_in_use]"
    assert "怎么做:" in lines


def test_json(sample: Path) -> None:
    done = diag("log", sample, "--json")
    facts = json.loads(done.stdout)
    assert done.returncode == 1
    assert (facts["schema"], facts["tool"], facts["missing"]) == (1, "npu-diag log", [])
    first = facts["findings"][0]
    assert (first["id"], first["role"], first["evidence"][0]["rank"], first["facts"]["port"]) == (
        "hccl_listen_port_in_use", "cause", 1, "17007",
    )  # fmt: skip
    assert {f["role"] for f in facts["findings"][1:]} == {"consequence"}
    assert facts["waited_for"] == [{"rank": 1, "lines": 1}]


def test_a_clean_log_gives_zero(tmp_path: Path) -> None:
    folder = tmp_path / "clean"
    shutil.copytree(SAMPLES / "06-clean-with-warnings/log", folder)
    done = diag("log", folder)
    assert done.returncode == 0
    assert done.stdout.startswith("No fault found in 3 files (7 lines, 2 warnings).")
    assert json.loads(diag("log", folder, "--json").stdout)["findings"][0]["role"] == "note"


def test_several_paths_and_a_gz(sample: Path, tmp_path: Path) -> None:
    (rank1,) = (sample / "rank1").rglob("*.log")
    packed = tmp_path / "rank1.log.gz"
    packed.write_bytes(gzip.compress(rank1.read_bytes()))
    done = diag("log", packed, sample / "rank0")
    assert done.returncode == 1
    assert "hccl_listen_port_in_use" in done.stdout.splitlines()[0]


def test_what_cannot_be_read_is_named(sample: Path) -> None:
    (sample / "broken.log.gz").write_bytes(gzip.compress(b"x" * 1000)[:-15])
    (sample / "core.dump").write_bytes(b"\x7fELF\0\0\0\0 binary \0\0")
    done = diag("log", sample)
    unread = done.stdout[done.stdout.index("Not read:") :]
    assert "broken.log.gz" in unread and "core.dump: binary data, no log" in unread
    assert done.returncode == 1


@pytest.mark.parametrize("name", ["nothing-there", "empty"])
def test_nothing_to_read_is_two_lines_and_two(name: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = diag("log", tmp_path / name)
    first, second = done.stderr.splitlines()
    assert done.returncode == 2 and done.stdout == ""
    assert first.startswith("npu-diag: ") and second.startswith("  next: ")


@pytest.mark.parametrize(("arguments", "code", "said"), [
    (("EI0006",), 0, "EI0006 HCCL: Socket connection between ranks was not made in time"),
    (("0x7020023",), 0, "acl reports 207005"),
    (("-8020",), 0, "-8020 occupied: the device is used by another container or process"),
    (("RuntimeError:", "ACL stream synchronize failed,", "error code:507018"), 0, "An operator that runs on the AI CPU"),
    (("runtime api version: 11.2",), 0, "A line about NVIDIA's CUDA, not about CANN"),
    (("E99123",), 1, "is no public CANN error code"),
])  # fmt: skip
def test_error_knows_more_than_public_numbers(arguments: tuple[str, ...], code: int, said: str) -> None:
    done = diag("error", *arguments)
    assert (done.returncode, done.stderr) == (code, "")
    assert said in done.stdout.splitlines()[0]
    facts = json.loads(diag("error", *arguments, "--json").stdout)
    assert (facts["schema"], facts["found"]) == (1, code == 0)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_hang() -> None:
    child = subprocess.Popen(["sleep", "60"])
    try:
        done = diag("hang", str(child.pid))
        facts = json.loads(diag("hang", str(child.pid), "--json").stdout)
    finally:
        child.kill()
        child.wait()
    assert done.returncode == 1
    assert done.stdout.splitlines()[0] == f"Process {child.pid} sleeps for a time it chose itself"
    assert (facts["tool"], facts["waits_for"]) == ("npu-diag hang", "sleep")
    assert diag("hang", str(child.pid)).returncode == 2


def test_a_session_that_is_no_log_is_judged_as_evidence_of_its_host(tmp_path: Path) -> None:
    session = tmp_path / "session.txt"
    session.write_text("$ id\nuid=1001(alice) gid=1001(alice) groups=1001(alice)\n$ ls -l /dev/davinci0\n"
                       "crw-rw---- 1 HwHiAiUser HwHiAiUser 236, 0 Mar  1 10:00 /dev/davinci0\n")  # fmt: skip
    done = diag("log", session)
    assert (done.returncode, done.stderr) == (1, "")
    assert any(line.startswith("ERROR no_right_on_node: alice") for line in done.stdout.splitlines())
    assert json.loads(diag("log", session, "--json").stdout)["host"]["findings"][0]["id"] == "no_right_on_node"
    session.write_text("step 1 loss 3.2\n$ id\nuid=0(root) gid=0(root)\n")
    clean = diag("log", session)
    assert clean.returncode == 0 and clean.stdout.startswith("No fault found")
