"""torch_npu.profiler.dynamic_profile: a file says when to record."""

from npu.torch_npu.profile_dynamic import init, start, step

__all__ = ["init", "start", "step"]
