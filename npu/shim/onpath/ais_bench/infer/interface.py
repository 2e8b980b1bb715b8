"""The classes unmodified scripts import from `ais_bench.infer.interface`."""

from npu.shim.infer_devices import MultiDeviceSession
from npu.shim.infer_session import InferSession, MemorySummary

__all__ = ["InferSession", "MemorySummary", "MultiDeviceSession"]
