"""One training-like run (a launch per kernel, a wait after every 40, marked steps) in the forms other tools read: a torch_npu
profile for msprof-analyze, a Kineto trace for HolisticTraceAnalysis and everything that reads Chrome traces."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
import analysis as made  # the bench beside this one: the same run as a capture of ours

BASE = 1_736_408_883_000_000  # us; traces of the real tools count from 1970
HOST, DEVICE, CANN = 3_000_001, 3_170_820_512, 3_170_820_320  # process ids in the trace
KERNEL_COLUMNS = """Step Id,Model ID,Task ID,Stream ID,Name,Type,OP State,Accelerator Core,Start Time(us),Duration(us),
Wait Time(us),Block Dim,Mix Block Dim,HF32 Eligible,Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,
Output Formats,Context ID"""


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
