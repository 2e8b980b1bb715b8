"""Make a host without driver, run the program on it, ask for the cause.

usage: python run.py [FOLDER]      default folder for the host: a temporary one
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
BIN = Path(sys.executable).parent


def show(environ: dict[str, str], *words: str) -> int:
    """Run a command, its output with ours; the exit code."""
    print(f"$ {' '.join(Path(w).name for w in words)}", flush=True)
    status = subprocess.run(words, env=environ, check=False).returncode
    print(f"[exit code {status}]\n", flush=True)
    return status


def main() -> int:
    with tempfile.TemporaryDirectory() as made:
        environ = {**os.environ, "NPU_STATE_DIR": sys.argv[1] if len(sys.argv) > 1 else made, "NPU_SIM": "1"}
        show(environ, str(BIN / "npu-diag"), "host", "create", "bare", "--preset", "no-driver", "--force")
        environ["NPU_HOST"] = "bare"
        failed = show(environ, sys.executable, "-m", "npu", str(HERE / "open_device.py"))
        found = show(environ, str(BIN / "npu-diag"), "check", "--probe")
    return 0 if failed and found == 1 else 1


if __name__ == "__main__":
    sys.exit(main())
