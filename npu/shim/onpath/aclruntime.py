"""The module that unmodified scripts import as `aclruntime`."""

from npu.shim.aclruntime import (
    PURE_INFER_DATA,
    PURE_INFER_DATA_RANDOM,
    PURE_INFER_DATA_ZERO,
    BaseTensor,
    InferenceSession,
    MemorySummary,
    Tensor,
    batch,
    dtype,
    infer_options,
    model,
    session_options,
    sumary,
    tensor_desc,
    type,
)

__all__ = [
    "PURE_INFER_DATA",
    "PURE_INFER_DATA_RANDOM",
    "PURE_INFER_DATA_ZERO",
    "BaseTensor",
    "InferenceSession",
    "MemorySummary",
    "Tensor",
    "batch",
    "dtype",
    "infer_options",
    "model",
    "session_options",
    "sumary",
    "tensor_desc",
    "type",
]
