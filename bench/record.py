"""What recording costs per API call, and how fast the device simulates kernels. `python bench/record.py [--json]`"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SCRIPT = """
import acl, json, sys, time
from time import CLOCK_MONOTONIC, clock_gettime_ns
N = 40_000
acl.init(); acl.rt.set_device(0)
s, _ = acl.rt.create_stream(); e, _ = acl.rt.create_event()
def run():
    begun = clock_gettime_ns(CLOCK_MONOTONIC)
    for _ in range(N):
        acl.rt.get_device()
    return (clock_gettime_ns(CLOCK_MONOTONIC) - begun) / N
def launches():
    begun = clock_gettime_ns(CLOCK_MONOTONIC)
    for _ in range(N // 40):
        for _ in range(40):
            acl.rt.record_event(e, s)
    took = (clock_gettime_ns(CLOCK_MONOTONIC) - begun) / N
    acl.rt.synchronize_stream(s)
    return took
run()
print(json.dumps({"call": min(run() for _ in range(7)), "launch": min(launches() for _ in range(5))}))
"""


def measure(recorded: bool) -> dict[str, float]:
    """Best of several, ns per call, in a process of its own."""
    from npu.shim.launch import environment

    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "calls.py"
        script.write_text(SCRIPT)
        env = environment({**os.environ, "NPU_STATE_DIR": folder}, clock="model")
        env.pop("NPU_SINK", None)
        if recorded:
            env |= {"NPU_SINK": "profiler.record.sink:open_sink", "NPUSCOPE_OUTPUT": folder}
        done = subprocess.run([sys.executable, str(script)], env=env, capture_output=True, text=True, check=True)
        figures: dict[str, float] = json.loads(done.stdout)
        return figures


def main() -> None:
    """Print plain and recorded cost per call, and the difference."""
    plain, recorded = measure(False), measure(True)
    figures = {name: {"plain_ns": round(plain[name]), "recorded_ns": round(recorded[name]), "added_ns": round(recorded[name] - plain[name])}
               for name in plain}
    if "--json" in sys.argv:
        print(json.dumps(figures, indent=1))
        return
    for name, figure in figures.items():
        print(f"{name:8} {figure['plain_ns']:6} ns unrecorded  {figure['recorded_ns']:6} ns recorded  +{figure['added_ns']} ns")


if __name__ == "__main__":
    main()
