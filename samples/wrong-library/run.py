"""Put a foreign library folder before and then behind the right ones, and ask what is loaded.

usage: python run.py [FOLDER]      default folder for the host: a temporary one
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

BIN = Path(sys.executable).parent
FOREIGN = "/opt/vision/lib"


def check(environ: dict[str, str], path: str) -> int:
    """Ask with one library path; the exit code."""
    print(f"$ LD_LIBRARY_PATH={path[:60]}... npu-diag check", flush=True)
    status = subprocess.run([str(BIN / "npu-diag"), "check"], env={**environ, "LD_LIBRARY_PATH": path}, check=False).returncode
    print(f"[exit code {status}]\n", flush=True)
    return status


def main() -> int:
    with tempfile.TemporaryDirectory() as made:
        state = Path(sys.argv[1] if len(sys.argv) > 1 else made).absolute()
        environ = {**os.environ, "NPU_STATE_DIR": str(state), "NPU_SIM": "1"}
        subprocess.run([str(BIN / "npu-diag"), "host", "create", "server", "--force"], env=environ, check=True)
        environ["NPU_HOST"] = "server"
        host = state / "hosts" / "server"
        product = host / FOREIGN.lstrip("/")
        product.mkdir(parents=True)
        for name in ("libascendcl.so", "libvision.so"):
            (product / name).write_text("a library of somebody else\n")
        right = next(
            line.partition("=")[2] for line in (host / "env.txt").read_text().splitlines() if line.startswith("LD_LIBRARY_PATH=")
        )
        before, behind = check(environ, f"{FOREIGN}:{right}"), check(environ, f"{right}:{FOREIGN}")
    return 0 if (before, behind) == (1, 0) else 1


if __name__ == "__main__":
    sys.exit(main())
