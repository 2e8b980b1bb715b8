"""PyTorch on the simulated NPU. Where torch is not installed these tests are left out; .ci/run has a venv with it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.torch)


@pytest.fixture(scope="session")
def device() -> str:
    """The simulated device in this process, on the model clock; what it records nobody hears."""
    os.environ["NPU_CLOCK"] = "model"
    from npu.torch_npu.backend import start

    start()
    return "npu"


def run_recorded(
    folder: Path, script: Path | str, *args: str, ranks: int = 0, status: int = 0, **environment: str
) -> tuple[Path, str]:
    """Run a script in a folder under `msprof run` with the model clock, as a job of `ranks` where given; its output folder and what
    it printed. status: the exit code it must have."""
    path = script if isinstance(script, Path) else folder / "script.py"
    if isinstance(script, str):
        path.write_text(script, encoding="utf-8")
    out = folder / "out"
    command = ["run", "--clock", "model", "--no-summary", "--output", str(out), *(["--nproc", str(ranks)] if ranks else [])]
    env = {**os.environ, "NPU_STATE_DIR": str(folder / "state"), "PYTHONPATH": str(ROOT), **environment}
    launch = [sys.executable, "-c", "import sys; from cli.msprof import main; sys.exit(main())", *command, str(path), *args]
    done = subprocess.run(launch, capture_output=True, text=True, env=env, cwd=folder, check=False, timeout=200)
    assert done.returncode == status, done.stdout + done.stderr
    return out, done.stdout if status == 0 else done.stdout + done.stderr


@pytest.fixture
def recorded(tmp_path: Path) -> Callable[..., tuple[Path, str]]:
    """run_recorded in the test's own folder."""
    return partial(run_recorded, tmp_path)
