"""The one place of arithmetic: an .om (or any ONNX) file is an onnxruntime session, built when first run.

Where onnxruntime lacks an operator or is known to differ from the standard (npu.ops.routes) the whole model goes to
onnx.reference. Files come from strangers, so before anything runs: size, seal, number of expanded nodes, onnx.checker; a model
with loops runs under a watchdog.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from npu import om
from npu.ops.routes import routed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.generic]

THREADS = 2  # of one session: enough for the models here, leaves the script its cores
MAX_NODES = 200_000  # expanded over function calls; a file of 26 nested functions reaches 2^25
TIME_LIMIT = 120.0  # s of real time for one run of a model with loops
CACHED = 16  # sessions kept by file hash
MEMORY_SHARE = 0.5  # of the machine's memory, for the arithmetic of all models
LOOPS = {"Loop", "Scan"}


class ComputeError(Exception):
    """The arithmetic could not be done. `reason` is one line for people."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


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
                found = _watched(self.engine, inputs, time_limit)
            else:
                with np.errstate(all="ignore"):
                    found = self.engine.run(None, dict(inputs))
        except _peer_errors() as error:
            raise ComputeError(_line(error)) from error
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
    except _peer_errors() as error:
        raise ComputeError(f"not a valid model: {_line(error)}") from error
    loops = bool(operators & LOOPS)
    refused = "onnxruntime is not used for it"
    if not routed(proto, operators):
        try:
            return Built(_onnxruntime(path if path is not None else proto.SerializeToString(), once), loops, True)
        except _peer_errors() as error:
            refused = _line(error)
    _within_memory(proto)
    try:
        from onnx.reference import ReferenceEvaluator

        return Built(ReferenceEvaluator(proto), loops, False)
    except _peer_errors() as error:
        raise ComputeError(f"{refused}; onnx.reference: {_line(error)}") from error


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


def _within_memory(proto: Any) -> None:
    """ComputeError for a model for onnx.reference with a value larger than all sessions may hold: numpy would take the machine's
    memory. Values whose size is not known before the run are not judged."""
    from math import prod

    from onnx import shape_inference

    try:
        values = shape_inference.infer_shapes(proto).graph
    except _peer_errors():  # what cannot be inferred is left to the evaluator
        return
    for value in (*values.value_info, *values.output):
        dims = [d.dim_value for d in value.type.tensor_type.shape.dim]
        if prod(dims) > most_memory():  # a byte each at least
            raise ComputeError(f"{value.name} of shape {dims} is larger than the memory for arithmetic, {most_memory()} bytes")


def most_memory() -> int:
    """Bytes that all arithmetic together may take."""
    return int(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * MEMORY_SHARE)


def _watched(engine: Any, inputs: Mapping[str, Array], time_limit: float) -> list[Array]:
    """One run that is told to stop when the limit has passed: a Loop may ask for 2^62 rounds."""
    import onnxruntime

    options = onnxruntime.RunOptions()

    def stop() -> None:
        options.terminate = True

    timer = threading.Timer(time_limit, stop)
    timer.start()
    try:
        found: list[Array] = engine.run(None, dict(inputs), options)
    except _peer_errors() as error:
        if options.terminate:
            raise ComputeError(f"the model ran longer than {time_limit:g} s and was stopped") from error
        raise
    finally:
        timer.cancel()
    return found


def expanded(proto: Any) -> tuple[set[str], int]:
    """(operator types, number of nodes once every function call is expanded). ComputeError for a function that calls itself."""
    functions = {(f.domain, f.name, f.overload): f for f in proto.functions}
    known: dict[tuple[str, str, str], int] = {}
    open_calls: set[tuple[str, str, str]] = set()
    operators: set[str] = set()

    def count(nodes: Any) -> int:
        total = 0
        for node in nodes:
            key = (node.domain, node.op_type, node.overload)
            if key in functions:
                total += call(key)
            else:
                operators.add(node.op_type)
                total += 1
            for attribute in node.attribute:
                for graph in (attribute.g, *attribute.graphs):
                    total += count(graph.node)
        return total

    def call(key: tuple[str, str, str]) -> int:
        if key in open_calls:
            raise ComputeError(f"the function {key[1]} calls itself")
        if key not in known:
            open_calls.add(key)
            known[key] = count(functions[key].node)
            open_calls.discard(key)
        return known[key]

    return operators, count(proto.graph.node)


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:400]


def _peer_errors() -> tuple[type[Exception], ...]:
    """What onnx and onnxruntime raise for models and inputs they do not take (found by 4,000 mutated files)."""
    from onnx.checker import ValidationError

    peers: list[type[Exception]] = [
        ValidationError,
        TypeError,
        ValueError,
        IndexError,
        KeyError,
        NotImplementedError,
        RuntimeError,
        MemoryError,
        OverflowError,
        AttributeError,
        ArithmeticError,
    ]
    try:
        from onnxruntime.capi import onnxruntime_pybind11_state as state
    except ImportError:
        return tuple(peers)
    peers += [
        getattr(state, n)
        for n in (
            "Fail",
            "InvalidArgument",
            "InvalidGraph",
            "InvalidProtobuf",
            "NoSuchFile",
            "NoModel",
            "NotImplemented",
            "RuntimeException",
            "EPFail",
            "EngineError",
        )
        if hasattr(state, n)
    ]
    return tuple(peers)
