"""What an operator of PyTorch costs in real time: on the CPU, on the simulated NPU, recorded. `python bench/torch_operators.py
[--json]` with a Python that has torch.

Each column is a process of its own with one thread for arithmetic. A figure is the best of several spans of processor time: the
tensors are so small (4x4) that the call is all there is, and the device is waited for between the spans, not inside.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

COLUMNS = ("cpu", "npu", "recorded")
SCRIPT = """
import json, sys, torch
from time import CLOCK_PROCESS_CPUTIME_ID, clock_gettime_ns
device = sys.argv[1]
if device == "npu":
    import torch_npu
torch.set_num_threads(1)
torch.manual_seed(0)
def best(call, burst=300, spans=40):
    for _ in range(5 * burst):
        call()
    found = 1e18
    for _ in range(spans):
        begun = clock_gettime_ns(CLOCK_PROCESS_CPUTIME_ID)
        for _ in range(burst):
            call()
        found = min(found, (clock_gettime_ns(CLOCK_PROCESS_CPUTIME_ID) - begun) / burst)
        if device == "npu":
            torch.npu.synchronize()
    return found / 1000
a, b = torch.randn(4, 4).to(device), torch.randn(4, 4).to(device)
pixels, labels = torch.randn(2, 3, 8, 8).to(device), torch.tensor([1, 2]).to(device)
net = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
                          torch.nn.Flatten(), torch.nn.Linear(128, 10)).to(device)
adam = torch.optim.AdamW(net.parameters(), lr=1e-3)
def step():
    adam.zero_grad()
    torch.nn.functional.cross_entropy(net(pixels), labels).backward()
    adam.step()
with torch.no_grad():
    found = {
        "a + b": best(lambda: a + b), "a.mul_(1.0)": best(lambda: a.mul_(1.0)), "a @ b": best(lambda: a @ b),
        "torch.cat((a, b))": best(lambda: torch.cat((a, b))), "a.softmax(-1)": best(lambda: a.softmax(-1)),
        "a.view(16)": best(lambda: a.view(16)), "a[1]": best(lambda: a[1]),
    }
found["training step of a small CNN"] = best(step, 4, 12)
print(json.dumps(found))
"""


def measure(column: str) -> dict[str, float]:
    """us a call, by what is called."""
    from npu.shim.launch import environment

    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "operators.py"
        script.write_text(SCRIPT, encoding="utf-8")
        env = environment({**os.environ, "NPU_STATE_DIR": folder}, clock="model")
        env.pop("NPU_SINK", None)
        if column == "recorded":
            env |= {"NPU_SINK": "profiler.record.sink:open_sink", "NPUSCOPE_OUTPUT": folder}
        device = "cpu" if column == "cpu" else "npu"
        done = subprocess.run([sys.executable, str(script), device], env=env, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(done.stderr)
        found: dict[str, float] = json.loads(done.stdout)
        return found


def main() -> None:
    """Print one line a call, or all as JSON."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    figures = {column: measure(column) for column in COLUMNS}
    if "--json" in sys.argv:
        print(json.dumps(figures, indent=1))
        return
    print(f"{'us a call':30}" + "".join(f"{column:>10}" for column in COLUMNS))
    for name in figures["cpu"]:
        print(f"{name:30}" + "".join(f"{figures[column][name]:10.1f}" for column in COLUMNS))


if __name__ == "__main__":
    main()
