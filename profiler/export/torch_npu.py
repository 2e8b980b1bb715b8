"""The layout of torch_npu's profiler: {host}_{pid}_{time}_ascend_pt, which msprof-analyze and MindStudio Insight read best."""

from __future__ import annotations

import csv
import json
import os
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from profiler.export import (
    api_statistic,
    chrome,
    communication_json,
    info_json,
    op_statistic,
    op_summary,
    step_trace_time,
    timeline_json,
)  # fmt: skip
from profiler.export.files import whole
from profiler.trace import Trace

OUTPUT = "ASCEND_PROFILER_OUTPUT"
STAMP = "0"
# op_summary's columns under the names of kernel_details; all others keep theirs, and Step Id comes first.
KERNEL_NAMES = {
    "Op Name": "Name", "OP Type": "Type", "Task Type": "Accelerator Core", "Task Start Time(us)": "Start Time(us)",
    "Task Duration(us)": "Duration(us)", "Task Wait Time(us)": "Wait Time(us)",
}  # fmt: skip
ENVIRONMENT = ("ASCEND_GLOBAL_LOG_LEVEL", "HCCL_RDMA_TC", "HCCL_RDMA_SL", "ACLNN_CACHE_LIMIT", "PYTORCH_NPU_ALLOC_CONF",
               "ASCEND_LAUNCH_BLOCKING", "HCCL_ALGO")  # fmt: skip


def export_torch_npu(trace: Trace, parent: Path, now: datetime | None = None) -> Path:
    """The folder made in `parent`. Steps are those of the trace's markers; a rank the trace does not tell is rank 0.

    FileExistsError when a folder of that name is there.
    """
    when = datetime.now() if now is None else now
    name, rank = info_json.host_identity(trace)[1] or "host", _rank(trace)
    stamp = when.strftime("%Y%m%d%H%M%S") + f"{when.microsecond // 1000:03d}"
    place = parent / f"{name}_{trace.meta.get('pid', 0)}_{stamp}_ascend_pt"
    output = place / OUTPUT
    output.mkdir(parents=True)
    with TemporaryDirectory(dir=place, prefix=".") as scratch:
        folder = Path(scratch)
        for module, title in ((op_statistic, "op_statistic"), (api_statistic, "api_statistic")):
            for path in module.write(trace, folder, STAMP):
                os.replace(path, output / f"{title}.csv")
        _trace_view(timeline_json.write(trace, folder, STAMP), output)
        _kernel_details(op_summary.write(trace, folder, STAMP), output)
    communication_json.write(trace, output)
    step_trace_time.write(trace, output / "step_trace_time.csv")
    _facts(trace, place, rank)
    return place


def _rank(trace: Trace) -> int:
    ranks = trace.meta.get("ranks") or []
    rank = trace.meta.get("rank", ranks[0] if len(ranks) == 1 else 0)
    return rank if isinstance(rank, int) and rank >= 0 else 0


def _trace_view(files: list[Path], output: Path) -> None:
    """One array of all slices: the peers know one name only."""
    if not files:
        return
    with whole(output / "trace_view.json") as out:
        for number, path in enumerate(files):
            text = path.read_text(encoding="utf-8")
            out.write(text[:-1] if number == 0 else "," + text[1:-1])
        out.write("]")


def _kernel_details(files: list[Path], output: Path) -> None:
    if not files:
        return
    with whole(output / "kernel_details.csv") as out:
        for number, path in enumerate(files):
            with path.open(encoding="utf-8") as lines:
                header = next(csv.reader([next(lines)]))
                if number == 0:
                    out.write(",".join(("Step Id", *(KERNEL_NAMES.get(n, n) for n in header))) + "\n")
                out.writelines(f",{line}" for line in lines)


def _facts(trace: Trace, place: Path, rank: int) -> None:
    """profiler_info_{rank}.json and profiler_metadata.json."""
    collection: dict[str, Any] = dict(trace.meta.get("collection") or {})
    metrics = str(collection.get("aic_metrics", "PipeUtilization"))
    end = chrome.unix_zero(trace) + trace.span()[1]
    info = {
        "config": {
            "common_config": {"activities": ["ProfilerActivity.CPU", "ProfilerActivity.NPU"], "record_shapes": True,
                              "profile_memory": False, "with_stack": False},
            "experimental_config": {"_profiler_level": "Level1", "_aic_metrics": f"ACL_AICORE_{_snake(metrics)}",
                                    "_l2_cache": False, "_export_type": "text"},
        },
        "start_info": {"syscnt_enable": True, "freq": 100, "start_cnt": 0, "start_monotonic": 0},
        "end_info": {"collectionTimeEnd": end, "MonotonicTimeEnd": trace.span()[1]},
        "cann_version": str(dict(trace.meta.get("versions") or {}).get("cann", "")),
        "rank_id": rank,
    }  # fmt: skip
    environ = dict(trace.meta.get("env") or {})
    metadata: dict[str, Any] = {"ENV_VARIABLES": {n: str(environ.get(n, "")) for n in ENVIRONMENT}}
    if trace.meta.get("groups"):
        metadata["parallel_group_info"] = trace.meta["groups"]
    for name, content in ((f"profiler_info_{rank}.json", info), ("profiler_metadata.json", metadata)):
        with whole(place / name) as out:
            json.dump(content, out, indent=1)


def _snake(name: str) -> str:
    """PipeUtilization -> PIPE_UTILIZATION."""
    return "".join(f"_{c}" if c.isupper() and n else c for n, c in enumerate(name)).upper()
