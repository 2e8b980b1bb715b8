"""profiler_info_{rank}.json and profiler_metadata.json of a torch_npu profile, from what the capture says it collected."""

from __future__ import annotations

from typing import Any

from profiler.export import chrome
from profiler.trace import Trace

LEVELS = {"off": "Level_none", "l0": "Level0", "l1": "Level1"}
ENVIRONMENT = ("ASCEND_GLOBAL_LOG_LEVEL", "HCCL_RDMA_TC", "HCCL_RDMA_SL", "ACLNN_CACHE_LIMIT", "HOST_CACHE_CAPACITY",
               "ASCEND_ENHANCE_ENABLE", "PYTORCH_NPU_ALLOC_CONF", "ASCEND_LAUNCH_BLOCKING", "HCCL_ALGO")  # fmt: skip


def info(trace: Trace, rank: int, export_type: str = "text") -> dict[str, Any]:
    """The switches as the framework's profiler names them: what was collected, whichever tool was asked for it."""
    asked: dict[str, Any] = dict(trace.meta.get("collection") or {})
    level = str(asked.get("level", "l1"))
    counters = level == "l1" and asked.get("ai_core") is not False
    metrics = str(asked.get("aic_metrics") or "PipeUtilization")
    activities = [("CPU", bool(trace.api) or bool(trace.marker)), ("NPU", bool(trace.task) or bool(trace.comm))]
    end = chrome.unix_zero(trace) + trace.span()[1]
    return {
        "config": {
            "common_config": {
                "activities": [f"ProfilerActivity.{name}" for name, there in activities if there],
                "record_shapes": level == "l1" or asked.get("aicore_shape") is True,
                "profile_memory": bool(trace.memory),
                "with_stack": any("stack" in t and bool((t["stack"] >= 0).any()) for t in (trace.api, trace.marker)),
            },
            "experimental_config": {
                "_profiler_level": LEVELS.get(level, level),
                "_aic_metrics": f"ACL_AICORE_{_snake(metrics)}" if counters else "ACL_AICORE_NONE",
                "_l2_cache": False,
                "_msprof_tx": asked.get("msproftx") is not False,
                "_export_type": export_type,
            },
        },
        "start_info": {"syscnt_enable": True, "freq": 100, "start_cnt": 0, "start_monotonic": 0},
        "end_info": {"collectionTimeEnd": end, "MonotonicTimeEnd": trace.span()[1]},
        "cann_version": str(dict(trace.meta.get("versions") or {}).get("cann", "")),
        "rank_id": rank,
    }


def metadata(trace: Trace) -> dict[str, Any]:
    """Environment of the run, and its communication groups where there are any."""
    environ = dict(trace.meta.get("env") or {})
    made: dict[str, Any] = {"ENV_VARIABLES": {n: str(environ.get(n, "")) for n in ENVIRONMENT}}
    if trace.meta.get("groups"):
        made["parallel_group_info"] = trace.meta["groups"]
    return made


def _snake(name: str) -> str:
    """PipeUtilization -> PIPE_UTILIZATION."""
    return "".join(f"_{c}" if c.isupper() and n else c for n, c in enumerate(name)).upper()
