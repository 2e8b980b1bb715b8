"""The model file: a valid ONNX model whose kernels are local functions, with chip, build, inputs, outputs and plan as metadata.

Written by npu.graph, read by npu.runtime. Nothing is ever unpickled, and everything read is checked, because model files come
from strangers.
"""

from npu.om.metadata import PREFIX, from_metadata, to_metadata
from npu.om.records import BadModel, Kernel, Model, Tensor
from npu.om.seal import digest, intact, seal, seal_of
from npu.om.wire import MAX_BYTES, fields, load, read_metadata

SUFFIX = ".om"

__all__ = [
    "MAX_BYTES", "PREFIX", "SUFFIX", "BadModel", "Kernel", "Model", "Tensor", "digest", "fields", "from_metadata", "intact",
    "load", "read_metadata", "seal", "seal_of", "to_metadata",
]  # fmt: skip
