"""atc --singleop: a list of operators, each to a model file of its own, for acl.op.set_model_dir.

The file holds [{"op", "input_desc", "output_desc", "attr"}]; a description has type, shape and format, and for a constant
is_const and const_value. Names of the files as the real tool gives them: number, operator, then type, format and dims of each
tensor (0_Add_3_2_8_16_3_2_8_16_3_2_8_16.om).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from npu.dtypes import DTYPES, numpy_type
from npu.graph.compile import Summary, compile
from npu.graph.errors import AtcError
from npu.graph.options import Options
from npu.ops.single import Tensor, Unknown, Value, build

ALIASES = {"float": "float32", "double": "float64"}
FORMATS = {"NCHW": 0, "NHWC": 1, "ND": 2}


def convert(source: Path, folder: Path, soc: str, command: str, cann: str) -> list[Summary]:
    """Every operator of the file, in its order. AtcError E10001 names what cannot be read or is not built in; files of
    operators before it stay."""
    entries = _entries(source)
    folder.mkdir(parents=True, exist_ok=True)
    return [_one(source, number, entry, folder, soc, command, cann) for number, entry in enumerate(entries)]


def refused(source: Path, reason: str) -> AtcError:
    return AtcError("E10001", value=str(source), parameter="--singleop", reason=f"{reason}.")


def _entries(source: Path) -> list[Any]:
    try:
        entries = json.loads(source.read_text(encoding="utf-8"))
    except OSError as error:
        raise refused(source, f"the file cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise refused(source, f"the file is no JSON: {error}") from error
    if not isinstance(entries, list) or not entries:
        raise refused(source, "the file must hold a list of operators")
    return entries


def _one(source: Path, number: int, entry: Any, folder: Path, soc: str, command: str, cann: str) -> Summary:
    if not isinstance(entry, dict) or not isinstance(entry.get("op"), str):
        raise refused(source, f"entry {number} names no op")
    op = entry["op"]
    sides = [_tensors(source, op, entry, name, letter) for name, letter in (("input_desc", "x"), ("output_desc", "y"))]
    name = "_".join([str(number), op, *(f"{t.code}" for side in sides for t in side)])
    ins, outs = ([t.tensor for t in side] for side in sides)
    try:
        proto, _ = build(op, ins, outs, _attributes(source, op, entry.get("attr", [])))
    except Unknown as unknown:
        raise refused(source, f"{op}: {unknown.reason}") from unknown
    with TemporaryDirectory() as scratch:
        model = Path(scratch, "op.onnx")
        model.write_bytes(proto.SerializeToString())
        path = folder / f"{name}.om"
        return compile(Options(model, path, soc, {}, "ND", "must_keep_origin_dtype", statistics=False, command=command), cann)


class _Described:
    """A tensor and its part of the file name: type, format, dims."""

    def __init__(self, tensor: Tensor, form: int) -> None:
        self.tensor = tensor
        self.code = "_".join(map(str, (DTYPES[tensor.dtype][0], form, *tensor.dims)))


def _tensors(source: Path, op: str, entry: Mapping[str, Any], side: str, letter: str) -> list[_Described]:
    descs = entry.get(side, [])
    if not isinstance(descs, list):
        raise refused(source, f"{op}: {side} is no list")
    return [_tensor(source, op, desc, f"{letter}{number}") for number, desc in enumerate(descs)]


def _tensor(source: Path, op: str, desc: Any, name: str) -> _Described:
    if not isinstance(desc, dict):
        raise refused(source, f"{op}: the description of {name} is no object")
    dtype, dims, form = str(desc.get("type")), desc.get("shape"), desc.get("format")
    dtype = ALIASES.get(dtype, dtype)
    if dtype not in DTYPES:
        raise refused(source, f"{op}: {name} has the type {desc.get('type')}")
    if not isinstance(dims, list) or not all(isinstance(d, int) for d in dims):
        raise refused(source, f"{op}: {name} has no shape of whole numbers")
    if any(d < 0 for d in dims):
        raise refused(source, f"{op}: {name} has an open shape; operators of fixed shapes are simulated")
    if form not in FORMATS:
        raise refused(source, f"{op}: {name} has the format {form}; ND, NCHW and NHWC are simulated")
    return _Described(Tensor(name, dtype, tuple(dims), _constant(source, op, desc, name, dtype, dims)), FORMATS[form])


def _constant(source: Path, op: str, desc: Mapping[str, Any], name: str, dtype: str, dims: list[int]) -> bytes | None:
    if not desc.get("is_const"):
        return None
    import numpy as np

    try:
        return np.array(desc.get("const_value"), numpy_type(dtype)).reshape(dims).tobytes()
    except (TypeError, ValueError) as error:
        raise refused(source, f"{op}: const_value of {name} does not fill its shape") from error


def _attributes(source: Path, op: str, given: Any) -> dict[str, Value]:
    if not isinstance(given, list) or not all(isinstance(a, dict) and "name" in a and "value" in a for a in given):
        raise refused(source, f"{op}: attr must be a list of objects with name, type and value")
    return {str(a["name"]): a["value"] for a in given}
