"""A machine that several users share: one of them fills device 0, and a job of two devices comes.

usage: python run.py [FOLDER]      default folder for the state of the machine: a temporary one
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
BIN = Path(sys.executable).parent
SCRIPT = (sys.executable, "-m", "npu")


def show(environ: dict[str, str], *words: str, **more: str) -> int:
    """Run a command, its output with ours; the exit code. more: variables it gets."""
    said = "".join(f"{name}={value} " for name, value in more.items())
    print(f"$ {said}{' '.join(Path(w).name for w in words)}", flush=True)
    status = subprocess.run(words, env={**environ, **more}, check=False).returncode
    print(f"[exit code {status}]\n", flush=True)
    return status


@contextmanager
def neighbour(environ: dict[str, str], gib: int, **more: str) -> Iterator[None]:
    """Somebody else's program while it holds memory of device 0."""
    words = (*SCRIPT, str(HERE / "neighbour.py"), str(gib))
    running = subprocess.Popen(words, env={**environ, **more}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert running.stdin is not None and running.stdout is not None
    for line in running.stdout:
        print(line, end="", flush=True)
        if line.strip() == "holding":
            break
    try:
        yield
    finally:
        running.stdin.close()
        running.wait()


def main() -> int:
    job, mended, check = (*SCRIPT, str(HERE / "main.py")), (*SCRIPT, str(HERE / "fixed.py")), (str(BIN / "npu-diag"), "check")
    with tempfile.TemporaryDirectory() as made:
        state = sys.argv[1] if len(sys.argv) > 1 else made
        environ = {**os.environ, "NPU_STATE_DIR": state, "NPU_SIM": "1", "ASCEND_PROCESS_LOG_PATH": str(Path(state) / "log")}
        environ.pop("ASCEND_RT_VISIBLE_DEVICES", None)
        with neighbour(environ, 58):
            full = show(environ, *job)
            asked = show(environ, *check)
            wrong = show(environ, *job, ASCEND_RT_VISIBLE_DEVICES="3,1")
            told = show(environ, *check, ASCEND_RT_VISIBLE_DEVICES="3,1")
            limits = f"{state}/limits.txt"
            few = show(environ, "bash", "-c", f"ulimit -n 1024; ulimit -a > {limits}; {check[0]} check {limits}")
            right = show(environ, *job, ASCEND_RT_VISIBLE_DEVICES="1,3")
            looks = show(environ, *mended)
        with neighbour(environ, 58, ACL_RT_MEM_MAX_SIZE="40GB"):
            limited = show(environ, *job)
    return 0 if full and wrong and (asked, told, few) == (1, 1, 1) and (right, looks, limited) == (0, 0, 0) else 1


if __name__ == "__main__":
    sys.exit(main())
