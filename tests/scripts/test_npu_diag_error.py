"""`npu-diag error` as people run it: text, languages, JSON, exit codes, and what it imports."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = Path(sys.executable).with_name("npu-diag")


def error(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    env = {k: v for k, v in os.environ.items() if k not in ("LC_ALL", "LC_MESSAGES", "LANG", "NPUSCOPE_DEBUG")}
    return subprocess.run(
        [COMMAND, "error", *arguments], capture_output=True, text=True, env={**env, **environ}, encoding="utf-8"
    )


def test_known_code_says_header_meaning_then_the_articles_reading() -> None:
    done = error("507018")
    lines = done.stdout.splitlines()
    assert done.returncode == 0
    assert lines[0] == "507018 ACL_ERROR_RT_AICPU_EXCEPTION: AI CPU task raised an exception"
    assert "if it came from aclrtsetdevice, check driver and firmware" in lines[1].lower()
    assert "  npu-smi info" in lines
    assert done.stderr == ""


def test_negative_number_is_no_option() -> None:
    assert error("-507018").stdout == error("507018").stdout


def test_words_of_a_name_may_stand_apart() -> None:
    assert error("aicpu", "exception").stdout == error("507018").stdout


@pytest.mark.parametrize(("arguments", "environ"), [
    (("507018", "--lang", "zh"), {}),
    (("507018",), {"LANG": "zh_CN.UTF-8"}),
    (("507018",), {"LANG": "en_US.UTF-8", "LC_ALL": "zh_CN.UTF-8"}),
])  # fmt: skip
def test_chinese(arguments: tuple[str, ...], environ: dict[str, str]) -> None:
    lines = error(*arguments, **environ).stdout.splitlines()
    assert lines[0] == "507018 ACL_ERROR_RT_AICPU_EXCEPTION: AI CPU 任务发生异常"
    assert "检查驱动和固件" in lines[1]


def test_english_when_asked_for_on_a_chinese_system() -> None:
    assert "AI CPU task raised an exception" in error("507018", "--lang", "en", LANG="zh_CN.UTF-8").stdout


def test_json_has_the_same_facts_in_both_languages() -> None:
    done = error("507018", "--json")
    facts = json.loads(done.stdout)
    assert done.returncode == 0
    assert (facts["schema"], facts["tool"], facts["found"], facts["code"]) == (1, "npu-diag error", True, 507018)
    assert set(facts["cause"]) == {"en", "zh"}
    assert facts["do"]["en"] and "npu-smi info" in facts["commands"]


def test_unknown_code_gives_one_and_near_ones() -> None:
    done = error("507081")
    assert done.returncode == 1
    assert "'507081' is no public CANN error code." in done.stdout
    assert "  507018 ACL_ERROR_RT_AICPU_EXCEPTION: AI CPU task raised an exception" in done.stdout.splitlines()
    facts = json.loads(error("507081", "--json").stdout)
    assert facts["found"] is False
    assert facts["near"][0]["code"] == 507018


def test_wrong_use_is_two_lines_and_two() -> None:
    for arguments, said in (((), "'CODE'"), (("--jsn", "1"), "--jsn"), (("1", "--lang", "fr"), "'fr'")):
        done = error(*arguments)
        first, second = done.stderr.splitlines()
        assert done.returncode == 2
        assert first.startswith("npu-diag: ") and said in first
        assert second.startswith("  next: ")
        assert done.stdout == ""


def test_no_colour_in_a_pipe() -> None:
    assert "\x1b" not in error("507018").stdout
