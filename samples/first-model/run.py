"""Make the network, convert it, run it, then convert it for another chip and see it refused.

usage: python run.py [FOLDER]      default folder: a temporary one
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
BIN = Path(sys.executable).parent


def show(folder: Path, *words: str) -> int:
    """Run a command in the folder, its output with ours; the exit code."""
    print("$", *(Path(w).name if os.sep in w else w for w in words), flush=True)
    environ = {**os.environ, "NPU_SIM": "1", "NPU_STATE_DIR": str(folder / "state")}
    status = subprocess.run(words, cwd=folder, env=environ, check=False).returncode
    print(f"[exit code {status}]\n", flush=True)
    return status


def main() -> int:
    with tempfile.TemporaryDirectory() as made:
        folder = Path(sys.argv[1] if len(sys.argv) > 1 else made).absolute()
        convert = (str(BIN / "atc"), "--framework=5", "--model=first.onnx")
        infer = (sys.executable, "-m", "npu", str(HERE / "infer.py"))
        show(folder, sys.executable, str(HERE / "make.py"), "first.onnx")
        show(folder, *convert, "--output=first", "--soc_version=Ascend910B3")
        right = show(folder, *infer, "first.om", "first.onnx")
        show(folder, *convert, "--output=other", "--soc_version=Ascend310P3")
        refused = show(folder, *infer, "other.om", "first.onnx")
    return 0 if right == 0 and refused == 1 else 1


if __name__ == "__main__":
    sys.exit(main())
