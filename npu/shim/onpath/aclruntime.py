"""The module that unmodified scripts import as `aclruntime`."""

from npu.shim.aclruntime import (
    BaseTensor,
    InferenceSession,
    MemorySummary,
    Tensor,
    batch,
    dtype,
    model,
    session_options,
    tensor_desc,
)

__all__ = [
    "BaseTensor",
    "InferenceSession",
    "MemorySummary",
    "Tensor",
    "batch",
    "dtype",
    "model",
    "session_options",
    "tensor_desc",
]
