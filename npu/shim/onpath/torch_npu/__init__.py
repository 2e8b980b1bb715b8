"""The package that unmodified scripts import as `torch_npu`."""

from npu.torch_npu.package import install

install(__name__)

from torch_npu import contrib, profiler  # noqa: E402 - they need what was installed

__all__ = ["contrib", "profiler"]
