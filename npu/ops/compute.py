"""The one place of arithmetic: an .om (or any ONNX) file is an onnxruntime session, built when first run.

Where onnxruntime lacks an operator or is known to differ from the standard (npu.ops.routes) the whole model goes to
onnx.reference. Files come from strangers, so before anything runs: size, seal, number of expanded nodes, onnx.checker; a model
with loops runs under a watchdog.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from npu import om
from npu.ops.compute_limits import (
    MAX_NODES,
    TIME_LIMIT,
    ComputeError,
    expanded,
    most_memory,
    one_line,
    peer_errors,
    watched,
    within_memory,
)
from npu.ops.routes import routed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.generic]

THREADS = 2  # of one session: enough for the models here, leaves the script its cores
CACHED = 16  # sessions kept by file hash
LOOPS = {"Loop", "Scan"}


class Engine(Protocol):
    """Something that computes a model: outputs in the model's order."""

    def run(self, names: Sequence[str] | None, feeds: Mapping[str, Any]) -> list[Any]: ...


class Session:
    """The arithmetic of one model file. Nothing is read before the first run; a file that changes afterwards is not noticed."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._built: Built | None = None

    def run(self, inputs: Mapping[str, Array], time_limit: float = TIME_LIMIT) -> list[Array]:
        """The outputs in the order of the model. ComputeError with the reason when it cannot be computed.

        time_limit: seconds of real time after which a model with loops is stopped.
        """
        if self._built is None:
            try:
                self._built = _built(str(self.path), om.digest(self.path))
            except OSError as error:
                raise ComputeError(f"{self.path}: {error.strerror}") from error
        return self._built.run(inputs, time_limit)


class Built:
    """A model ready to run."""

    def __init__(self, engine: Engine, loops: bool, native: bool) -> None:
        self.engine, self.loops, self.native = engine, loops, native

    def run(self, inputs: Mapping[str, Array], time_limit: float) -> list[Array]:
        import numpy as np

        try:
            if self.native and self.loops:
                found = watched(self.engine, inputs, time_limit)
            else:
                with np.errstate(all="ignore"):
                    found = self.engine.run(None, dict(inputs))
        except peer_errors() as error:
            raise ComputeError(one_line(error)) from error
        return [np.asarray(f) for f in found]


@lru_cache(maxsize=CACHED)
def _built(path: str, digest: str) -> Built:
    """The session of a file; digest is part of the key so that a changed file is a new one."""
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
    from onnx import ModelProto

    if Path(path).stat().st_size > om.MAX_BYTES:
        raise ComputeError(f"{path}: larger than 2 GiB")
    data = Path(path).read_bytes()
    if not om.intact(data):
        raise ComputeError(f"{path}: the file was changed after atc wrote it")
    proto = ModelProto()
    try:
        proto.ParseFromString(data)
    except DecodeError as error:
        raise ComputeError(f"{path}: not an ONNX model ({error})") from error
    del data
    return build(proto, path)


def evaluate(proto: Any, inputs: Mapping[str, Array]) -> list[Array]:
    """The outputs of a model that lies in memory. ComputeError."""
    return build(proto, None, once=True).run(inputs, TIME_LIMIT)


def build(proto: Any, path: str | None, once: bool = False) -> Built:
    """An engine for a parsed model, after the guards. path: where onnxruntime shall read it, None to hand the bytes over. once:
    it runs only once, so that onnxruntime's optimisations do not pay."""
    import onnx

    operators, nodes = expanded(proto)
    if nodes > MAX_NODES:
        raise ComputeError(f"the model expands to {nodes} nodes, more than {MAX_NODES}")
    try:
        onnx.checker.check_model(proto)
    except peer_errors() as error:
        raise ComputeError(f"not a valid model: {one_line(error)}") from error
    loops = bool(operators & LOOPS)
    refused = "onnxruntime is not used for it"
    if not routed(proto, operators):
        try:
            return Built(_onnxruntime(path if path is not None else proto.SerializeToString(), once), loops, True)
        except peer_errors() as error:
            refused = one_line(error)
    within_memory(proto)
    try:
        from onnx.reference import ReferenceEvaluator

        return Built(ReferenceEvaluator(proto), loops, False)
    except peer_errors() as error:
        raise ComputeError(f"{refused}; onnx.reference: {one_line(error)}") from error


def _onnxruntime(source: str | bytes, once: bool) -> Engine:
    import onnxruntime

    _limit_memory()
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.use_env_allocators", "1")
    options.intra_op_num_threads = THREADS
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    if once:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    made: Engine = onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    return made


@cache
def _limit_memory() -> None:
    """Let all sessions together take at most a share of the machine's memory: a few bytes can ask for a tensor of many GiB."""
    import onnxruntime

    most = most_memory()
    kind, default = onnxruntime.OrtAllocatorType.ORT_ARENA_ALLOCATOR, onnxruntime.OrtMemType.DEFAULT
    arena = onnxruntime.OrtArenaCfg({"max_mem": most, "arena_extend_strategy": 1})  # 1: as much as is asked for
    onnxruntime.create_and_register_allocator(onnxruntime.OrtMemoryInfo("Cpu", kind, 0, default), arena)
