"""Tensors and conditions of torch_npu.testing."""

from npu.torch_npu.testing_tools import (
    SupportedDevices,
    create_common_tensor,
    create_dtype_tensor,
    skipIfUnsupportMultiNPU,
)

__all__ = ["SupportedDevices", "create_common_tensor", "create_dtype_tensor", "skipIfUnsupportMultiNPU"]
