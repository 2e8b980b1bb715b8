"""The recorder is found by its name, whatever files lie beside the script."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
SCRIPT = """
from npu.events import load_sink
print(load_sink().__class__.__module__, __import__("sys").path[0] == __import__("os").path.dirname(__file__))
"""


def test_a_script_beside_a_file_named_as_our_package_is_recorded_all_the_same(tmp_path):
    (tmp_path / "profiler.py").write_text("raise SystemExit('the wrong one')\n")
    (tmp_path / "script.py").write_text(SCRIPT)
    env = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "NPU_SINK": "profiler.record.sink:open_sink",
        "NPUSCOPE_OUTPUT": str(tmp_path / "out"),
    }
    done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["profiler.record.sink", "True"], done.stderr
