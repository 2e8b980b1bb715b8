"""The package that unmodified scripts import as `torch_npu`."""

import os

_asked = os.environ.get("TORCH_DEVICE_BACKEND_AUTOLOAD")
os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"  # torch, imported from here, would ask for this half-made module

from npu.torch_npu.package import install  # noqa: E402

if _asked is None:
    del os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"]
else:
    os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = _asked

install(__name__)

from torch_npu import contrib, profiler  # noqa: E402 - they need what was installed

__all__ = ["contrib", "profiler"]
