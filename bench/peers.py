"""Speed beside other analyzers on the same events: `python bench/peers.py [kernels] [--venvs DIR] [--json]` (default 100,000).

One training-like run (a launch per kernel, a wait after every 40, marked steps) is written twice: as a torch_npu profile, which
msprof-analyze's advisor and we read, and as a Kineto trace, which HolisticTraceAnalysis reads. Each tool runs in a child process
of its own; the figures are its time from start to finished analysis (imports told apart) and its peak memory. The peers are
installed by pip into virtual environments below --venvs when they are not there yet.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
import analysis as made  # the bench beside this one: the same run as a capture of ours

PEERS = {"HolisticTraceAnalysis": "HolisticTraceAnalysis==0.5.0", "msprof-analyze": "msprof-analyze==26.2.0"}
BASE = 1_736_408_883_000_000  # us; traces of the real tools count from 1970
HOST, DEVICE, CANN = 3_000_001, 3_170_820_512, 3_170_820_320  # process ids in the trace
KERNEL_COLUMNS = """Step Id,Model ID,Task ID,Stream ID,Name,Type,OP State,Accelerator Core,Start Time(us),Duration(us),
Wait Time(us),Block Dim,Mix Block Dim,HF32 Eligible,Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,
Output Formats,Context ID"""

# Each prints {"import_s", "work_s", "peak_mb"} after its work on argv[1].
MEASURE = """
import json, resource, sys, time
begun = time.perf_counter()
{imports}
imported = time.perf_counter()
{work}
line = next(l for l in open("/proc/self/status") if l.startswith("VmHWM"))
figures = {{"import_s": imported - begun, "work_s": time.perf_counter() - imported, "peak_mb": int(line.split()[1]) / 1024}}
print(json.dumps(figures))
"""
OURS = MEASURE.format(
    imports="from profiler import open as open_trace\nfrom profiler.analysis import analyze",
    work="report = analyze(open_trace(sys.argv[1]))",
)
HTA = MEASURE.format(
    imports="from hta.trace_analysis import TraceAnalysis",
    work="""
found = TraceAnalysis(trace_dir=sys.argv[1])
found.get_temporal_breakdown(visualize=False)
found.get_idle_time_breakdown(visualize=False)
found.get_gpu_kernel_breakdown(visualize=False)
found.get_cuda_kernel_launch_stats(visualize=False)
""",
)


class Events:
    """The run as columns in us: launches, waits, kernels and steps."""

    def __init__(self, kernels: int) -> None:
        api, task = made.eager(kernels)
        self.call_start, self.call_us = BASE + api["start"] / 1000, (api["end"] - api["start"]) / 1000
        self.launch = api["correlation"]
        self.start, self.us = BASE + task["start"] / 1000, (task["end"] - task["start"]) / 1000
        self.correlation = task["correlation"]
        self.name = [made.TEXTS[n] for n in task["name"].tolist()]
        heads = np.flatnonzero(task["name"] == len(made.OPERATORS) - 1)
        launches = self.call_start[self.launch >= 0][heads]
        self.steps = list(zip(launches.tolist(), [*launches[1:].tolist(), float(self.start[-1] + self.us[-1])], strict=True))


def torch_npu(folder: Path, run: Events) -> Path:
    """A torch_npu result folder: trace_view.json, kernel_details.csv, step_trace_time.csv and profiler_info_0.json."""
    prof = folder / "host_1_20250109000000_ascend_pt"
    out = prof / "ASCEND_PROFILER_OUTPUT"
    out.mkdir(parents=True)
    rows: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": name}}
        for pid, name in ((HOST, "Python"), (DEVICE, "Ascend Hardware"), (CANN, "CANN"))
    ]
    for number, (start, end) in enumerate(run.steps):
        rows.append({"ph": "X", "name": f"ProfilerStep#{number}", "pid": HOST, "tid": HOST, "ts": f"{start:.3f}",
                     "dur": end - start, "cat": "cpu_op", "args": {}})  # fmt: skip
    for start, us, ident in zip(run.call_start.tolist(), run.call_us.tolist(), run.launch.tolist(), strict=True):
        name = "aclrtSynchronizeStream" if ident < 0 else "launch"
        rows.append({"ph": "X", "name": f"AscendCL@{name}", "pid": CANN, "tid": HOST, "ts": f"{start:.3f}", "dur": us,
                     "args": {"Thread Id": HOST, "Mode": "ACL_RTS", "level": "acl", "id": name,
                              "connection_id": ident}})  # fmt: skip
        if ident >= 0:
            rows.append({"ph": "s", "name": f"HostToDevice{ident}", "cat": "HostToDevice", "id": str(ident), "pid": CANN,
                         "tid": HOST, "ts": f"{start:.3f}"})  # fmt: skip
    for n, (start, us, ident) in enumerate(zip(run.start.tolist(), run.us.tolist(), run.correlation.tolist(), strict=True)):
        rows.append({"ph": "X", "name": run.name[n], "pid": DEVICE, "tid": 2, "ts": f"{start:.3f}", "dur": us,
                     "args": {"Model Id": 4294967295, "Task Type": "AI_CORE", "Physic Stream Id": 2, "Task Id": n % 65536,
                              "Batch Id": 0, "connection_id": ident}})  # fmt: skip
        rows.append({"ph": "f", "bp": "e", "name": f"HostToDevice{ident}", "cat": "HostToDevice", "id": str(ident), "pid": DEVICE,
                     "tid": 2, "ts": f"{start:.3f}"})  # fmt: skip
    (out / "trace_view.json").write_text(json.dumps(rows))
    with (out / "kernel_details.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(KERNEL_COLUMNS.replace("\n", "").split(","))
        firsts = np.array([s for s, _ in run.steps])
        step = np.searchsorted(firsts, run.start, side="right") - 1
        for n, (start, us) in enumerate(zip(run.start.tolist(), run.us.tolist(), strict=True)):
            shapes = '"16,128,768;768,768"', "FLOAT16;FLOAT16", "ND;ND", '"16,128,768"', "FLOAT16", "ND", "N/A"
            facts = int(step[n]), 4294967295, n % 65536, 2, run.name[n], run.name[n], "dynamic", "AI_CORE"
            writer.writerow((*facts, f"{start:.3f}\t", f"{us:.3f}", 0, 20, 0, "NO", *shapes))
    (prof / "profiler_info_0.json").write_text(
        json.dumps({"config": {"common_config": {}, "experimental_config": {}}, "rank_id": 0})
    )
    return prof


def kineto(folder: Path, run: Events) -> Path:
    """A folder with one Kineto trace: the same calls and kernels under the names CUDA profiles have."""
    place = folder / "kineto"
    place.mkdir()
    rows: list[dict[str, Any]] = []
    for number, (start, end) in enumerate(run.steps):
        rows.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{number}", "pid": HOST, "tid": HOST, "ts": start,
                     "dur": end - start, "args": {}})  # fmt: skip
    for start, us, ident in zip(run.call_start.tolist(), run.call_us.tolist(), run.launch.tolist(), strict=True):
        name = "cudaStreamSynchronize" if ident < 0 else "cudaLaunchKernel"
        rows.append({"ph": "X", "cat": "cuda_runtime", "name": name, "pid": HOST, "tid": HOST, "ts": start, "dur": us,
                     "args": {"correlation": ident}})  # fmt: skip
    for n, (start, us, ident) in enumerate(zip(run.start.tolist(), run.us.tolist(), run.correlation.tolist(), strict=True)):
        rows.append({"ph": "X", "cat": "kernel", "name": run.name[n], "pid": 0, "tid": 7, "ts": start, "dur": us,
                     "args": {"device": 0, "stream": 7, "correlation": ident}})  # fmt: skip
    (place / "rank0.json").write_text(json.dumps({"schemaVersion": 1, "distributedInfo": {"rank": 0}, "traceEvents": rows}))
    return place


def python_of(venvs: Path, peer: str) -> Path:
    """The interpreter of a peer's environment, made and filled when it is not there."""
    home = venvs / peer
    python = home / "bin" / "python"
    if not (home / "ready").exists():
        venv.create(home, with_pip=True, clear=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", PEERS[peer]], check=True, stdout=sys.stderr)
        (home / "ready").touch()
    return python


def measured(python: Path | str, code: str, place: Path) -> dict[str, float]:
    """The figures a child prints last."""
    done = subprocess.run([str(python), "-c", code, str(place)], capture_output=True, text=True, cwd=place.parent)
    if done.returncode:
        raise SystemExit(f"{python} failed on {place}:\n{done.stderr[-2000:]}")
    figures: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return figures


def advisor(python: Path, place: Path) -> dict[str, float]:
    """msprof-analyze has only a command: what it takes and its peak, measured by a small parent."""
    command = [str(python.with_name("msprof-analyze")), "advisor", "all", "-d", str(place), "-o", str(place.parent / "advice")]
    code = MEASURE.format(
        imports="import subprocess",
        work=f"done = subprocess.run({command!r}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)\n"
        "if done.returncode: sys.exit(done.stderr[-2000:])",
    ).replace("int(line.split()[1]) / 1024", "resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024")
    return measured(sys.executable, code, place)


def main() -> None:
    """Print one line a tool."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("kernels", nargs="?", default="100,000")
    parser.add_argument("--venvs", type=Path, default=Path(tempfile.gettempdir()) / "npuscope-peers", help="where the peers live")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    run = Events(int(given.kernels.replace(",", "")))
    with tempfile.TemporaryDirectory() as folder:
        profile, trace = torch_npu(Path(folder), run), kineto(Path(folder), run)
        capture = made.write(Path(folder) / "own", "eager", len(run.start))
        figures = {
            "npuscope, own capture": measured(sys.executable, OURS, capture),
            "npuscope, torch_npu profile": measured(sys.executable, OURS, profile),
            "msprof-analyze, torch_npu profile": advisor(python_of(given.venvs, "msprof-analyze"), profile),
            "HolisticTraceAnalysis, Kineto": measured(python_of(given.venvs, "HolisticTraceAnalysis"), HTA, trace),
        }
    if given.json:
        print(json.dumps(figures, indent=1))
        return
    print(f"{len(run.start):,} kernels, {len(run.call_start):,} calls")
    for name, values in figures.items():
        print(f"{name:36}{values['work_s']:8.2f} s   imports {values['import_s']:5.2f} s   peak {values['peak_mb']:6.0f} MB")


if __name__ == "__main__":
    main()
