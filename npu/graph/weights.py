"""Large weights travel beside the graph as arrays, from the reading of a model to the writing: a protobuf would copy them at
every step. Where the graph is an onnx-ir one, its values hold the same arrays."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from math import prod
from typing import TYPE_CHECKING, Any

from npu import om
from npu.dtypes import to_bytes
from npu.graph.shapes import SMALL
from npu.graph.types import NAMES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Weights = dict[str, NDArray[Any]]

GRAPH, INITIALIZER, RAW_DATA = 7, 5, 9  # fields of ModelProto, GraphProto, TensorProto
STRING = 8  # TensorProto.DataType
# TensorProto.DataType -> numpy's name: what a file holds as the array lies in memory
PLAIN = {
    1: "<f4",
    2: "u1",
    3: "i1",
    4: "<u2",
    5: "<i2",
    6: "<i4",
    7: "<i8",
    9: "?",
    10: "<f2",
    11: "<f8",
    12: "<u4",
    13: "<u8",
}


def set_aside(graph: Any) -> Weights:
    """Take the data of the large weights out of a GraphProto, by name; type, dims and name stay."""
    import numpy as np

    taken: Weights = {}
    for tensor in graph.initializer:
        dtype, count = PLAIN.get(tensor.data_type), prod(tensor.dims)
        if dtype is None or count <= SMALL or not tensor.HasField("raw_data"):
            continue
        data = tensor.raw_data
        if len(data) == count * np.dtype(dtype).itemsize:
            taken[tensor.name] = np.frombuffer(data, dtype).reshape(tuple(tensor.dims))
            tensor.ClearField("raw_data")
    return taken


def give(graph: Any, weights: Mapping[str, NDArray[Any]]) -> None:
    """Let the values of an onnx-ir graph hold the arrays that were set aside."""
    import onnx_ir as ir

    for name, value in graph.initializers.items():
        if name in weights:
            value.const_value = ir.Tensor(weights[name], dtype=value.dtype, name=name)


def take(graph: Any) -> Weights:
    """Take the large weights out of an onnx-ir graph, by name. Typed placeholders stay, which to_proto writes without data;
    weights that nothing reads any more go."""
    import onnx_ir as ir

    taken: Weights = {}
    for name, value in list(graph.initializers.items()):
        if not value.uses() and not value.is_graph_output():
            del graph.initializers[name]
            continue
        tensor = value.const_value
        if tensor is not None and tensor.size > SMALL and tensor.dtype != ir.DataType.STRING:
            taken[name] = tensor.numpy()
            value.const_value = ir.ExternalTensor("", 0, 0, tensor.dtype, shape=ir.Shape(tensor.shape), name=name)
    return taken


def bare(graph: Any, names: Iterable[str]) -> None:
    """Let the placeholders of a GraphProto say nothing but type and dims."""
    for tensor in graph.initializer:
        if tensor.name in names:
            tensor.ClearField("external_data")
            tensor.ClearField("data_location")


def serialised(made: Any, weights: Mapping[str, NDArray[Any]]) -> list[bytes | memoryview]:
    """The model file in pieces: the protobuf of a ModelProto with its weights in the place of their placeholders."""
    head, graph = type(made)(), type(made.graph)()
    head.CopyFrom(made)
    graph.CopyFrom(made.graph)
    head.ClearField("graph")
    holders = [t for t in made.graph.initializer if t.name in weights]
    kept = [t for t in made.graph.initializer if t.name not in weights]
    del graph.initializer[:]
    graph.initializer.extend(kept)
    inner: list[bytes | memoryview] = [graph.SerializeToString(deterministic=True)]
    for holder in holders:
        inner += _tensor(holder, weights[holder.name])
    whole = sum(map(len, inner))
    return [head.SerializeToString(deterministic=True), key(GRAPH), varint(whole), *inner]


def _tensor(holder: Any, array: NDArray[Any]) -> Iterator[bytes | memoryview]:
    """One initializer: its type, dims and name, then the data."""
    import numpy as np

    fields, dtype = holder.SerializeToString(deterministic=True), NAMES[holder.data_type]
    plain = array.dtype.isnative and array.dtype.kind in "fiucb"
    data = np.ascontiguousarray(array).data.cast("B") if plain else memoryview(to_bytes(array, dtype))
    front = fields + key(RAW_DATA) + varint(len(data))
    yield key(INITIALIZER) + varint(len(front) + len(data)) + front
    yield data


def sealed(pieces: list[bytes | memoryview]) -> list[bytes | memoryview]:
    """The pieces with the seal of the model file behind them."""
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    return [*pieces, om.seal_of(digest.hexdigest())]


def key(field: int) -> bytes:
    """Of a field with a length, as protobuf writes it."""
    return varint(field << 3 | 2)


def varint(number: int) -> bytes:
    made = bytearray()
    while number > 0x7F:
        made.append(number & 0x7F | 0x80)
        number >>= 7
    made.append(number)
    return bytes(made)
