"""PyTorch on the simulated NPU. Where torch is not installed these tests are left out; .ci/run has a venv with it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
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


@pytest.fixture
def recorded(tmp_path: Path) -> Callable[..., tuple[Path, str]]:
    """Run a script under `msprof run` with the model clock; its output folder and what it printed."""

    def run(script: Path | str, *args: str) -> tuple[Path, str]:
        path = script if isinstance(script, Path) else tmp_path / "script.py"
        if isinstance(script, str):
            path.write_text(script, encoding="utf-8")
        out = tmp_path / "out"
        command = [sys.executable, "-m", "cli.msprof", "run", "--clock", "model", "--no-summary", "--output", str(out)]
        env = {**os.environ, "NPU_STATE_DIR": str(tmp_path / "state"), "PYTHONPATH": str(ROOT)}
        launch = [
            sys.executable,
            "-c",
            "import sys; from cli.msprof import main; sys.exit(main())",
            *command[3:],
            str(path),
            *args,
        ]
        done = subprocess.run(launch, capture_output=True, text=True, env=env, cwd=tmp_path, check=False, timeout=200)
        assert done.returncode == 0, done.stdout + done.stderr
        return out, done.stdout

    return run
