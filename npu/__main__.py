"""`python -m npu script.py [args]`: run a script on the simulated stack, unrecorded."""

from __future__ import annotations

import os
import sys

from npu.shim.launch import environment


def main() -> None:
    """Replace this process by the script's interpreter: output and exit code are the script's own."""
    if len(sys.argv) < 2:
        print("usage: python -m npu script.py [args]", file=sys.stderr)
        raise SystemExit(2)
    if not os.path.exists(sys.argv[1]):
        print(f"npu: there is no file {sys.argv[1]}\n  next: check the path of the script", file=sys.stderr)
        raise SystemExit(2)
    os.execve(sys.executable, [sys.executable, *sys.argv[1:]], environment(os.environ))


if __name__ == "__main__":
    main()
