"""The collector's script on a server without Python, and what the other commands make of its file."""

import os
import shutil
import subprocess

import pytest

from diag.redact import redacted

SECRETS = {"HCCL_API_KEY": "k-12345", "ASCEND_TOKEN": "t-12345", "ACL_PASSWORD": "p-12345"}


@pytest.fixture
def collected(start, tmp_path):
    """(text of the collector's file, its folder); the server has neither python nor npu-smi on its path."""
    script = start("npu-diag", "collector")
    assert script.code == 0 and script.out.startswith("#!/bin/sh\n")
    (tmp_path / "collector.sh").write_text(script.out)
    home = tmp_path / "home" / "mueller"
    (home / "ascend" / "log" / "debug" / "plog").mkdir(parents=True)
    (home / "ascend" / "log" / "debug" / "plog" / "plog-1_2026.log").write_text(
        "[ERROR] HCCL(1,python):2026-08-05-07:05:46.521.115 [a.cc:1] listen on ip[192.0.2.160] fail\n[INFO] not this\n"
    )
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in (
        "sh",
        "sed",
        "env",
        "grep",
        "sort",
        "cat",
        "id",
        "uname",
        "ls",
        "df",
        "find",
        "tail",
        "head",
        "dirname",
        "readlink",
        "getent",
        "cut",
    ):
        if shutil.which(name):
            (tools / name).symlink_to(shutil.which(name))
    env = {
        "PATH": str(tools),
        "HOME": str(home),
        "ASCEND_RT_VISIBLE_DEVICES": "1,0",
        "ASCEND_HOME_PATH": f"{home}/Ascend/ascend-toolkit/8.0.0",
        **SECRETS,
    }
    done = subprocess.run(["sh", "collector.sh"], cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("written: npu-facts.txt\n")
    again = subprocess.run(["sh", "collector.sh"], cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert again.returncode == 2 and "exists already" in again.stderr
    return (tmp_path / "npu-facts.txt").read_text(), tmp_path


def test_secrets_and_personal_paths_are_gone_and_faults_are_found(collected, start):
    text, folder = collected
    assert not any(secret in text for secret in SECRETS.values())
    assert "mueller" not in text and "/home/user/Ascend/ascend-toolkit/8.0.0" in text
    assert "192.0.2.160" not in text and "listen on ip[x.x.x.x] fail" in text and "not this" not in text
    ran = start("npu-diag", "check", "npu-facts.txt")
    assert ran.code == 1 and "visible_devices_order" in ran.out and "npu-smi" in ran.out
    (folder / "other.txt").write_text(text.replace("ASCEND_RT_VISIBLE_DEVICES=1,0", "ASCEND_RT_VISIBLE_DEVICES=0,1"))
    differ = start("npu-diag", "diff", "npu-facts.txt", "other.txt")
    assert differ.code == 1 and differ.out.startswith("ERROR breaks npu-facts.txt, and not other.txt: ASCEND_RT_VISIBLE_DEVICES=1,0: ")
    assert differ.out.splitlines()[-4:] == [
        "env ASCEND_RT_VISIBLE_DEVICES",
        "    npu-facts.txt: 1,0  <- breaks it",
        "    other.txt: 0,1",
        "1 difference(s)",
    ]


@pytest.mark.skipif(shutil.which("dash") is None, reason="no strict POSIX shell")
def test_the_script_is_plain_posix(start, tmp_path):
    (tmp_path / "c.sh").write_text(start("npu-diag", "collector").out)
    assert subprocess.run(["dash", "-n", "c.sh"], cwd=tmp_path, check=False, env=os.environ).returncode == 0


def test_redaction():
    text = (
        "user mueller on node17 said token=abc123 API_KEY: 'xyz' http://me:pw@host/x Authorization: Bearer abcdefgh12 "
        "/home/mueller/x muellers node17.local HCCL_BUFFSIZE=200"
    )
    made = redacted(text, "/home/mueller", "mueller", "node17")
    for gone in ("abc123", "xyz", "me:pw", "abcdefgh12", " mueller ", "/home/mueller"):
        assert gone not in made
    assert "muellers" in made and "HCCL_BUFFSIZE=200" in made and "/home/user/x" in made
    assert redacted("root in /root on localhost", "/root", "root", "localhost") == "root in /root on localhost"
