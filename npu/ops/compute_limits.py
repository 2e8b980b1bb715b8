"""What the arithmetic of a stranger's model may take: nodes, memory, time; and what the computing libraries raise."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.generic]

MAX_NODES = 200_000  # expanded over function calls; a file of 26 nested functions reaches 2^25
TIME_LIMIT = 120.0  # s of real time for one run of a model with loops
MEMORY_SHARE = 0.5  # of the machine's memory, for the arithmetic of all models


class ComputeError(Exception):
    """The arithmetic could not be done. `reason` is one line for people."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def within_memory(proto: Any) -> None:
    """ComputeError for a model for onnx.reference with a value larger than all sessions may hold: numpy would take the machine's
    memory. Values whose size is not known before the run are not judged."""
    from math import prod

    from onnx import shape_inference

    try:
        values = shape_inference.infer_shapes(proto).graph
    except peer_errors():  # what cannot be inferred is left to the evaluator
        return
    for value in (*values.value_info, *values.output):
        dims = [d.dim_value for d in value.type.tensor_type.shape.dim]
        if prod(dims) > most_memory():  # a byte each at least
            raise ComputeError(f"{value.name} of shape {dims} is larger than the memory for arithmetic, {most_memory()} bytes")


def most_memory() -> int:
    """Bytes that all arithmetic together may take."""
    return int(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * MEMORY_SHARE)


def watched(engine: Any, inputs: Mapping[str, Array], time_limit: float) -> list[Array]:
    """One run that is told to stop when the limit has passed: a Loop may ask for 2^62 rounds."""
    import onnxruntime

    options = onnxruntime.RunOptions()

    def stop() -> None:
        options.terminate = True

    timer = threading.Timer(time_limit, stop)
    timer.start()
    try:
        found: list[Array] = engine.run(None, dict(inputs), options)
    except peer_errors() as error:
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


def one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:400]


def peer_errors() -> tuple[type[Exception], ...]:
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
