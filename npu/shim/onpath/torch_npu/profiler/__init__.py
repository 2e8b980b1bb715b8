"""torch_npu.profiler: records from inside a script."""

from npu.torch_npu.profile import analyse, profile, tensorboard_trace_handler
from npu.torch_npu.profile_config import (
    AiCMetrics,
    ExportType,
    HostSystem,
    ProfilerAction,
    ProfilerActivity,
    ProfilerLevel,
    _ExperimentalConfig,
    schedule,
)
from torch_npu.profiler import dynamic_profile


def supported_activities() -> set[ProfilerActivity]:
    return set(ProfilerActivity)


__all__ = [
    "AiCMetrics", "ExportType", "HostSystem", "ProfilerAction", "ProfilerActivity", "ProfilerLevel", "_ExperimentalConfig",
    "analyse",
    "dynamic_profile", "profile", "schedule", "supported_activities", "tensorboard_trace_handler",
]  # fmt: skip
