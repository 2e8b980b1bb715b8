"""InferSession as unmodified scripts import it."""

from npu.shim.infer_session import InferSession, MemorySummary

__all__ = ["InferSession", "MemorySummary"]
