"""Options of torch_npu.profiler under the names scripts use."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, StrEnum
from typing import Any


class ProfilerActivity(Enum):
    CPU = 0
    NPU = 1


class ProfilerAction(Enum):
    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


class ProfilerLevel(StrEnum):
    Level_none = "Level_none"
    Level0 = "Level0"
    Level1 = "Level1"
    Level2 = "Level2"


class AiCMetrics(StrEnum):
    """Groups of counters, by their name in the files."""

    PipeUtilization = "PipeUtilization"
    ArithmeticUtilization = "ArithmeticUtilization"
    Memory = "Memory"
    MemoryL0 = "MemoryL0"
    MemoryUB = "MemoryUB"
    ResourceConflictRatio = "ResourceConflictRatio"
    L2Cache = "L2Cache"
    MemoryAccess = "MemoryAccess"
    AiCoreNone = "ACL_AICORE_NONE"


class ExportType(StrEnum):
    Text = "text"
    Db = "db"


class HostSystem(StrEnum):
    CPU = "cpu"
    MEM = "mem"
    DISK = "disk"
    NETWORK = "network"
    OSRT = "osrt"


# aclprofAicoreMetrics of each group
METRICS = {
    AiCMetrics.ArithmeticUtilization: 0, AiCMetrics.PipeUtilization: 1, AiCMetrics.Memory: 2, AiCMetrics.MemoryL0: 3,
    AiCMetrics.ResourceConflictRatio: 4, AiCMetrics.MemoryUB: 5, AiCMetrics.L2Cache: 6, AiCMetrics.MemoryAccess: 8,
    AiCMetrics.AiCoreNone: 255,
}  # fmt: skip
# Bits of the mask (ACL_PROF_*)
API, TASK_TIME, COUNTERS, HCCL, MARKS, TASK_TIME_L0, TASK_MEMORY, TASK_TIME_L2 = 0x1, 0x2, 0x4, 0x20, 0x80, 0x800, 0x1000, 0x2000
LEVELS = {
    ProfilerLevel.Level_none: API, ProfilerLevel.Level0: API | TASK_TIME_L0, ProfilerLevel.Level1: API | TASK_TIME | COUNTERS |
    HCCL,
    ProfilerLevel.Level2: API | TASK_TIME | TASK_TIME_L2 | COUNTERS | HCCL,
}  # fmt: skip


class _ExperimentalConfig:
    """What to collect. Level0 without counters is the default, as in the real one; from Level1 on counters come with it. What the
    simulated device has no data for (l2_cache, host_sys, sys_io, sys_interconnection, op_attr) is refused by name."""

    def __init__(
        self, profiler_level: ProfilerLevel = ProfilerLevel.Level0, aic_metrics: AiCMetrics | None = None, l2_cache: bool = False,
        msprof_tx: bool = False, mstx: bool = False, data_simplification: bool = True, record_op_args: bool = False,
        op_attr: bool = False, gc_detect_threshold: float | None = None, export_type: Any = ExportType.Text,
        host_sys: Any = None, mstx_domain_include: Any = None, mstx_domain_exclude: Any = None, sys_io: bool = False,
        sys_interconnection: bool = False,
    ) -> None:  # fmt: skip
        refused = {"l2_cache": l2_cache, "op_attr": op_attr, "record_op_args": record_op_args, "host_sys": host_sys, "sys_io":
                   sys_io,
                   "sys_interconnection": sys_interconnection}  # fmt: skip
        for name, value in refused.items():
            if value:
                raise ValueError(f"torch_npu.profiler: {name}={value} has no data on the simulated NPU; leave it out")
        self.profiler_level = ProfilerLevel(profiler_level)
        asked = export_type if isinstance(export_type, list | tuple) else [export_type]
        self.export_types = [ExportType(one).value for one in asked] or [ExportType.Text.value]
        full = self.profiler_level in (ProfilerLevel.Level1, ProfilerLevel.Level2)
        usual = AiCMetrics.PipeUtilization if full else AiCMetrics.AiCoreNone
        self.aic_metrics = usual if aic_metrics is None else AiCMetrics(aic_metrics)
        self.marks = msprof_tx or mstx
        self.data_simplification, self.gc_detect_threshold = data_simplification, gc_detect_threshold
        self.mstx_domain_include, self.mstx_domain_exclude = mstx_domain_include, mstx_domain_exclude

    def mask(self, profile_memory: bool) -> int:
        """Bits of what is asked for."""
        return LEVELS[self.profiler_level] | (MARKS if self.marks else 0) | (TASK_MEMORY if profile_memory else 0)

    def facts(self) -> dict[str, object]:
        """As profiler_info.json states them."""
        return {"_profiler_level": self.profiler_level.value, "_aic_metrics": _shown(self.aic_metrics), "_l2_cache": False,
                "_msprof_tx": self.marks, "_op_attr": False, "_data_simplification": self.data_simplification,
                "_record_op_args": False, "_export_type": self.export_types}  # fmt: skip


def _shown(metrics: AiCMetrics) -> str:
    """PipeUtilization -> ACL_AICORE_PIPE_UTILIZATION."""
    if metrics is AiCMetrics.AiCoreNone:
        return metrics.value
    return "ACL_AICORE" + "".join(
        f"_{c}" if c.isupper() else c.upper() for c in metrics.value.replace("UB", "Ub").replace("L0", "l0")
    )


def schedule(
    wait: int, active: int, warmup: int = 0, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """What to do in a step: skip_first steps nothing, then `repeat` times (0 for ever) wait, warm up, record."""
    if active < 1 or min(wait, warmup, repeat, skip_first, skip_first_wait) < 0:
        raise ValueError("torch_npu.profiler.schedule: active is at least 1, all others at least 0")

    def of(step: int) -> ProfilerAction:
        step -= skip_first
        if step < 0:
            return ProfilerAction.NONE
        if skip_first_wait:
            step += wait
        cycle = wait + warmup + active
        if repeat and step // cycle >= repeat:
            return ProfilerAction.NONE
        at = step % cycle
        if at < wait:
            return ProfilerAction.NONE
        if at < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if at < cycle - 1 else ProfilerAction.RECORD_AND_SAVE

    return of
