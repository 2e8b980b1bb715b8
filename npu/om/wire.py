"""Reading a model file without onnx: a walk over the top level of the protobuf (field 14 is metadata_props, field 7 the graph,
skipped by its length), a few milliseconds for 100 MB.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from pathlib import Path

from npu.om.metadata import PREFIX, from_metadata
from npu.om.records import BadModel, Model

MAX_BYTES = 2 << 30  # protobuf's own limit
MAX_PLAN = 16 << 20  # a plan larger than this is not one of ours


def _varint(data: mmap.mmap | bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise ValueError("varint too long")


def fields(data: mmap.mmap | bytes, at: int, end: int) -> Iterator[tuple[int, int, int]]:
    """(field number, start, end) of the length-delimited fields between two offsets; others are stepped over."""
    while at < end:
        key, at = _varint(data, at)
        number, wire = key >> 3, key & 7
        if wire == 2:
            length, at = _varint(data, at)
            if at + length > end:
                raise ValueError(f"field {number} is longer than the file")
            yield number, at, at + length
            at += length
        elif wire == 0:
            _, at = _varint(data, at)
        elif wire in (1, 5):
            at += 8 if wire == 1 else 4
        else:
            raise ValueError(f"wire type {wire}")


def read_metadata(path: str | Path) -> dict[str, str]:
    """The metadata texts of a model file. BadModel when it is no ONNX protobuf or carries none of ours; OSError as usual."""
    file = Path(path)
    size = file.stat().st_size
    if size == 0 or size > MAX_BYTES:
        raise BadModel(str(path), "the file is empty" if size == 0 else f"{size} bytes are more than a model file can have")
    with file.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return _metadata(data, size, str(path))


def _metadata(data: mmap.mmap, size: int, path: str) -> dict[str, str]:
    found: dict[str, str] = {}
    try:
        for number, start, end in fields(data, 0, size):
            if number != 14:  # ModelProto.metadata_props
                continue
            if end - start > MAX_PLAN:
                raise BadModel(path, "a metadata entry is larger than 16 MiB")
            entry = {n: data[a:b].decode("utf-8") for n, a, b in fields(data, start, end) if n in (1, 2)}
            found[entry.get(1, "")] = entry.get(2, "")
    except (ValueError, IndexError) as error:
        raise BadModel(path, f"not a model file ({error})") from error
    if PREFIX + "soc" not in found:
        raise BadModel(path, "not a model made by atc (it carries no target chip)")
    return found


def load(path: str | Path) -> Model:
    """The model of a file, without its arithmetic. BadModel or OSError."""
    return from_metadata(read_metadata(path), str(path))
