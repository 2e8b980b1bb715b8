"""Other tools in environments of their own, and a measured child process, which prints {"import_s", "work_s", "cpu_s", "peak_mb"}
last. cpu_s: processor time of it and its children from the start; a busy machine changes it much less than the others."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

PEERS = {
    "HolisticTraceAnalysis": ("HolisticTraceAnalysis==0.5.0", "pandas<3"),  # it writes int64 into int16, which pandas 3 refuses
    "msprof-analyze": ("msprof-analyze==26.2.0",),
    "viztracer": ("viztracer==1.1.1",),
}
MEASURE = """
import json, resource, sys, time
begun = time.perf_counter()
{imports}
imported = time.perf_counter()
{work}
line = next(l for l in open("/proc/self/status") if l.startswith("VmHWM"))
figures = {{"import_s": imported - begun, "work_s": time.perf_counter() - imported, "peak_mb": int(line.split()[1]) / 1024}}
both = [resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
figures["cpu_s"] = sum(u.ru_utime + u.ru_stime for u in both)
print(json.dumps(figures))
"""


def cores() -> set[int]:
    """Processors this process may use."""
    return os.sched_getaffinity(0)


def python_of(venvs: Path, peer: str) -> Path:
    """The interpreter of a peer's environment, made and filled when it is not there."""
    home = venvs / peer
    python = home / "bin" / "python"
    if not (home / "ready").exists():
        venv.create(home, with_pip=True, clear=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", *PEERS[peer]], check=True, stdout=sys.stderr)
        (home / "ready").touch()
    return python


def measured(python: Path | str, code: str, place: Path) -> dict[str, Any]:
    """The figures a child prints last."""
    done = subprocess.run([str(python), "-c", code, str(place)], capture_output=True, text=True, cwd=place.parent)
    if done.returncode:
        raise SystemExit(f"{python} failed on {place}:\n{done.stderr[-2000:]}")
    figures: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return figures


def command(words: list[str], place: Path, into: Path) -> dict[str, Any]:
    """A command measured by a small parent: all of it is work. What it prints goes to `into`."""
    code = MEASURE.format(
        imports="import subprocess",
        work=f"done = subprocess.run({words!r}, stdout=open({str(into)!r}, 'w'), stderr=subprocess.PIPE, text=True)\n"
        "if done.returncode: sys.exit(done.stderr[-2000:])",
    ).replace("int(line.split()[1]) / 1024", "resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024")
    return measured(sys.executable, code, place)
