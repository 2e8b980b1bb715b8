"""Large weights travel beside the graph as arrays and go into the file as they lie in memory: a protobuf would copy them at
every step."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
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


def take(graph: Any) -> Weights:
    """Take the large weights out of an onnx-ir graph, by name. Typed placeholders stay, which to_proto writes without data."""
    import onnx_ir as ir

    taken: Weights = {}
    for name, value in graph.initializers.items():
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
    return [head.SerializeToString(deterministic=True), _key(GRAPH), _varint(whole), *inner]


def _tensor(holder: Any, array: NDArray[Any]) -> Iterator[bytes | memoryview]:
    """One initializer: its type, dims and name, then the data."""
    import numpy as np

    fields, dtype = holder.SerializeToString(deterministic=True), NAMES[holder.data_type]
    plain = array.dtype.isnative and array.dtype.kind in "fiucb"
    data = np.ascontiguousarray(array).data.cast("B") if plain else memoryview(to_bytes(array, dtype))
    front = fields + _key(RAW_DATA) + _varint(len(data))
    yield _key(INITIALIZER) + _varint(len(front) + len(data)) + front
    yield data


def sealed(pieces: list[bytes | memoryview]) -> list[bytes | memoryview]:
    """The pieces with the seal of the model file behind them."""
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    return [*pieces, om.seal_of(digest.hexdigest())]


def _key(field: int) -> bytes:
    """Of a field with a length, as protobuf writes it."""
    return _varint(field << 3 | 2)


def _varint(number: int) -> bytes:
    made = bytearray()
    while number > 0x7F:
        made.append(number & 0x7F | 0x80)
        number >>= 7
    made.append(number)
    return bytes(made)
