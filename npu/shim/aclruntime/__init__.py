"""The module `aclruntime` that benchmark tools and their users import: sessions of named arrays, on top of acl."""

from npu.shim.aclruntime.facts import infer_options, session_options, sumary, tensor_desc
from npu.shim.aclruntime.kinds import dtype, type
from npu.shim.aclruntime.pipeline import PURE_INFER_DATA, PURE_INFER_DATA_RANDOM, PURE_INFER_DATA_ZERO
from npu.shim.aclruntime.session import InferenceSession, model
from npu.shim.aclruntime.tensors import BaseTensor, MemorySummary, Tensor, batch

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
