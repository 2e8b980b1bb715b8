"""What the shell is told when a reader presses the tabulator key, through the same entry as in the shell."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

BIN = Path(sys.executable).parent


def completed(line: str, shell: str = "bash") -> str:
    """The answer of the command at the front of a line to completion of its last word."""
    command = line.split()[0]
    words = line.split(" ")
    asked = {
        f"_{command.replace('-', '_').upper()}_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
        "_TYPER_COMPLETE_ARGS": line,
    }
    done = subprocess.run([BIN / command], env={**os.environ, **asked}, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize(("line", "expected"), [
    ("npuscope rep", ["report"]),
    ("npuscope smi", ["smi"]),
    ("msprof ti", ["timeline"]),
    ("msprof export --as", ["--as"]),
    ("msprof report --no", ["--no-charts"]),
    ("npu-diag err", ["error"]),
])  # fmt: skip
def test_verbs_and_options(line: str, expected: list[str]) -> None:
    assert completed(line).split() == expected


def test_choices_of_an_option() -> None:
    assert completed("msprof export DIR --as ").split() == ["msprof", "timeline", "csv", "db", "torch_npu", "torch_npu_db", "perfetto"]


def test_zsh_shows_what_a_verb_does() -> None:
    assert "analyze" in completed("npuscope ", "zsh") and "Findings in order" in completed("npuscope ", "zsh")
