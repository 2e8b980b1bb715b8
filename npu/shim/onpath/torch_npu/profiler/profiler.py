"""torch_npu.profiler.profiler: analyse(path), and the profiler under its longer name."""

from npu.torch_npu.profile import analyse, profile, tensorboard_trace_handler

__all__ = ["analyse", "profile", "tensorboard_trace_handler"]
