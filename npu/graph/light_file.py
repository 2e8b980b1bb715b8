"""Reads a model file without the data of its large weights, and that data beside it: parsed as one, it would be copied twice.

The walk knows only where the fields of the protobuf lie (as npu.om does); a file it does not understand is left to the parser.
"""

from __future__ import annotations

import mmap
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

from npu import om
from npu.graph.weights import GRAPH, INITIALIZER, PLAIN, RAW_DATA, key, varint

if TYPE_CHECKING:
    from npu.graph.weights import Weights

LARGE = 16 << 10  # bytes of data from which a weight is cut out: more than SMALL elements of any plain type


def split(path: Path) -> tuple[bytes, Weights]:
    """The bytes of the model without that data, and the data by name; no weights where the file is not of the usual form.
    OSError as usual; ValueError or IndexError for bytes that are no protobuf."""
    import numpy as np
    from onnx import TensorProto

    weights: Weights = {}
    with path.open("rb", buffering=0) as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
        graphs = [(a, b) for n, a, b in om.fields(data, 0, len(data)) if n == GRAPH]
        if len(graphs) != 1 or (front := _front(data, GRAPH, *graphs[0])) is None:
            return data[:], {}
        done, end = graphs[0]
        pieces: list[bytes] = []
        for number, start, stop in om.fields(data, *graphs[0]):
            if number != INITIALIZER or stop - start < LARGE or (head := _front(data, INITIALIZER, start, stop)) is None:
                continue
            raw = [(a, b) for n, a, b in om.fields(data, start, stop) if n == RAW_DATA]
            if len(raw) != 1 or raw[0][1] - raw[0][0] < LARGE or (cut := _front(data, RAW_DATA, *raw[0])) is None:
                continue
            left = data[start:cut] + data[raw[0][1] : stop]
            tensor = TensorProto.FromString(left)
            dtype = PLAIN.get(tensor.data_type)
            count = (raw[0][1] - raw[0][0]) // np.dtype(dtype).itemsize if dtype else -1
            if not tensor.name or dtype is None or count != prod(tensor.dims) or tensor.name in weights:
                continue
            array = np.empty(tuple(tensor.dims), dtype)
            stream.seek(raw[0][0])
            if stream.readinto(array.data.cast("B")) != array.nbytes:
                raise ValueError(f"the data of {tensor.name} ends early")
            weights[tensor.name] = array
            pieces += [data[done:head], key(INITIALIZER), varint(len(left)), left]
            done = stop
        pieces.append(data[done:end])
        return b"".join([data[:front], key(GRAPH), varint(sum(map(len, pieces))), *pieces, data[end:]]), weights


def _front(data: mmap.mmap, number: int, start: int, end: int) -> int | None:
    """Where the key of a field with that content stands; None when it is not written in the shortest form."""
    expected = key(number) + varint(end - start)
    at = start - len(expected)
    return at if at >= 0 and data[at:start] == expected else None
