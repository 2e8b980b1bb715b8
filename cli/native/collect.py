"""What the native options ask the recorder to collect. Defaults are the real tool's: no marks, memory, samples."""

from __future__ import annotations

from collections.abc import Mapping

from cli.native.options import Refused, is_on, storage_limit
from profiler.record.collection import Collection

TASK_TIME = {"on": "l1", "l2": "l1"}
DOMAINS = ("mstx-domain-include", "mstx-domain-exclude")


def collection(given: Mapping[str, str]) -> Collection:
    """Refused for options that need or exclude each other."""
    level = given.get("task-time", given.get("task-trace", "on"))
    level = TASK_TIME.get(level, level)
    domains = [name for name in DOMAINS if name in given]
    if domains and not is_on(given, "msproftx"):
        raise Refused(f"Argument --{domains[0]}: it needs --msproftx=on.")
    if len(domains) == 2:
        raise Refused(f"Argument --{DOMAINS[0]}: it excludes --{DOMAINS[1]}.")
    if is_on(given, "aicore-shape") and level != "l0":
        raise Refused("Argument --aicore-shape: it needs --task-time=l0; l1 has the shapes.")
    metrics = given.get("aic-metrics", "")
    return Collection(
        aic_metrics="" if metrics == "PipeUtilization" else metrics,
        level=level,
        ascendcl=given.get("ascendcl") != "off",
        ai_core=given.get("ai-core") != "off",
        aicore_shape=is_on(given, "aicore-shape"),
        task_memory=is_on(given, "task-memory"),
        msproftx=is_on(given, "msproftx"),
        mstx_include=given.get(DOMAINS[0], ""),
        mstx_exclude=given.get(DOMAINS[1], ""),
        sys_hardware_mem=is_on(given, "sys-hardware-mem"),
        sys_hardware_mem_freq=int(given.get("sys-hardware-mem-freq", 50)),
        sys_interconnection=is_on(given, "sys-interconnection-profiling"),
        sys_interconnection_freq=int(given.get("sys-interconnection-freq", 50)),
        dvpp=is_on(given, "dvpp-profiling"),
        l2=is_on(given, "l2"),
        aicpu=is_on(given, "aicpu"),
        storage_limit=storage_limit(given.get("storage-limit", "")) or 0,
        delay=int(given.get("delay", 0)),
        duration=int(given.get("duration", 0)),
    )
