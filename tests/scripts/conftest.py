"""A script as its user runs it: written to a folder, started as a child, judged by its files, exit code and text."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from textwrap import dedent

import pytest

BIN = Path(sys.executable).parent


class Ran:
    """What a child left: exit code, texts, the folder it ran in, and the PROF folders there."""

    def __init__(self, done: subprocess.CompletedProcess[str], folder: Path) -> None:
        self.code, self.out, self.err, self.folder = done.returncode, done.stdout, done.stderr, folder

    @property
    def profs(self) -> list[Path]:
        return sorted(self.folder.glob("**/PROF_*"))


Run = Callable[..., Ran]


@pytest.fixture
def start(tmp_path: Path) -> Run:
    """start("msprof", "run", "script.py", script="...") runs an installed command in a folder of its own."""

    def go(*words: str, script: str = "", env: Mapping[str, str] | None = None, timeout: float = 60) -> Ran:
        if script:
            (tmp_path / "script.py").write_text(dedent(script), encoding="utf-8")
        home = {"NPU_STATE_DIR": str(tmp_path / "state"), "HOME": str(tmp_path), "LC_ALL": "C.UTF-8", "NO_COLOR": "1"}
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("NPU", "ASCEND")) and k not in ("LANG", "LANGUAGE")}
        command = [str(BIN / words[0]), *words[1:]] if words[0] != "python" else [sys.executable, *words[1:]]
        done = subprocess.run(command, cwd=tmp_path, env={**kept, **home, **(env or {})}, capture_output=True, text=True,
                              errors="replace", timeout=timeout, check=False)
        return Ran(done, tmp_path)

    return go
