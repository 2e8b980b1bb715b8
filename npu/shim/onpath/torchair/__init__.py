"""The package that programs import as `torchair`: graph mode of torch_npu."""

from npu.torch_npu import backend

backend.start()

from npu.torch_npu.graph.config import CompilerConfig  # noqa: E402 - needs the device
from npu.torch_npu.graph.torchair import get_npu_backend, patch_for_hcom  # noqa: E402
from npu.torch_npu.graph.torchair import refuse as __getattr__  # noqa: E402

__all__ = ["CompilerConfig", "__getattr__", "get_npu_backend", "patch_for_hcom"]
