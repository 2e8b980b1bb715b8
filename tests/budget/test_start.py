"""Start-up costs, as ratios to the interpreter's own start measured in turn with them: processor time, the least of several rounds,
so that other work on the machine does not count."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

TOOL = Path(sys.prefix) / "bin" / "npu-smi"
ROUNDS = 9
TIMES_BARE = 8
HEAVY = ("numpy", "typer", "rich", "click", "plotly", "onnx", "onnxruntime", "msgspec")


def seconds(command: list[str], env: dict[str, str]) -> float:
    """Processor time of the command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env=env, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_npu_smi_info_starts_fast(tmp_path: Path) -> None:
    env = {**os.environ, "NPU_STATE_DIR": str(tmp_path), "NPU_SIM": "1"}
    tool, bare = [str(TOOL), "info"], [sys.executable, "-c", "pass"]
    seconds(tool, env)  # compiled and in the page cache from here on
    pairs = [(seconds(tool, env), seconds(bare, env)) for _ in range(ROUNDS)]
    ratio = min(t for t, _ in pairs) / min(b for _, b in pairs)
    assert ratio <= TIMES_BARE, f"npu-smi info takes {ratio:.1f} times a bare start"


def test_npu_smi_info_imports_nothing_heavy(tmp_path: Path) -> None:
    code = ("import sys; sys.argv = ['npu-smi', 'info']; from cli.npu_smi import main; main(); "
            "print(*sys.modules, file=sys.stderr)")
    env = {**os.environ, "NPU_STATE_DIR": str(tmp_path), "NPU_SIM": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert "npu.driver.query" in done.stderr.split()
    assert not set(HEAVY) & set(done.stderr.split())


def test_a_script_that_imports_acl_imports_nothing_heavy(tmp_path: Path) -> None:
    """What it does not ask for (arrays, models, media) is not there: a start takes a third of a second, numpy would add half of it."""
    script = tmp_path / "script.py"
    script.write_text("import acl, sys\nacl.init(); acl.rt.set_device(0); acl.finalize()\nprint(*sys.modules)\n")
    env = {**os.environ, "NPU_STATE_DIR": str(tmp_path), "HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-m", "npu", str(script)], env=env, capture_output=True, text=True, check=True)
    assert "npu.acl.install" in done.stdout.split()
    assert not set(HEAVY) & set(done.stdout.split())
