"""--input_shape: its text, and fixing the shapes of a model's inputs with it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from npu.graph.errors import AtcError

SAMPLE = "input_name1:n1,c1,h1,w1;input_name2:n2,c2,h2,w2"
RANGE_SAMPLE = "input_name1:[n1,c1,h1,w1];input_name2:[n2~n3,c2,-1,w2]"

Range = tuple[int, int]


def parse_shapes(text: str) -> dict[str, tuple[int, ...]]:
    """'n1:1,3,224,224;n2:-1,4' -> dims by input name; 'n:' is a scalar, open dims (-1 or 1~8) are -1. AtcError E10002, E10011."""
    return {n: tuple(-1 if isinstance(d, tuple) else d for d in dims) for n, dims in _entries(text).items()}


def from_ranges(text: str) -> str:
    """--input_shape_range ("n1:[1~8,3,-1];n2:[4]") in the words of --input_shape. AtcError E10048."""
    made = []
    for part in (p.strip() for p in text.split(";")):
        found = re.fullmatch(r"(.+):\s*\[([^\[\]]*)\]", part)
        if part and found is None:
            raise AtcError("E10048", shape_range=text, reason=f"{part} is not of that form", sample=RANGE_SAMPLE)
        made += [f"{found[1]}:{found[2]}"] if found else []
    return ";".join(made)


def parse_ranges(text: str) -> dict[tuple[str, int], Range]:
    """The ranges of the open dims: (input, axis) -> (least, most); a plain -1 has none."""
    return {(n, axis): d for n, dims in _entries(text).items() for axis, d in enumerate(dims) if isinstance(d, tuple)}


def _entries(text: str) -> dict[str, tuple[int | Range, ...]]:
    found: dict[str, tuple[int | Range, ...]] = {}
    for part in (p.strip() for p in text.split(";")):
        if not part:
            continue
        name, colon, dims = part.rpartition(":")
        if not colon or not name:
            raise AtcError(
                "E10002", shape=text, reason="the name of the input and a colon must come before its shape", sample=SAMPLE
            )
        if name in found:
            raise AtcError("E10002", shape=text, reason=f"{name} is there twice", sample=SAMPLE)
        found[name] = tuple(_dim(d.strip(), text) for d in dims.split(",")) if dims.strip() else ()
    return found


def _dim(word: str, text: str) -> int | Range:
    least, tilde, most = word.partition("~")
    if tilde:
        if not (least.isdecimal() and most.isdecimal() and 0 < int(least) <= int(most)):
            raise AtcError("E10002", shape=text, reason=f"{word} is no range of sizes", sample=SAMPLE)
        return int(least), int(most)
    if word == "-1":
        return -1
    if not re.fullmatch(r"[+-]?\d+", word):
        raise AtcError("E10002", shape=text, reason=f"{word or 'an empty dimension'} is not a whole number", sample=SAMPLE)
    if int(word) <= 0:
        raise AtcError("E10011", shape=text, result=word)
    return int(word)


def apply_shapes(graph: Any, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Fix the inputs of a GraphProto. AtcError for an unknown name, another number of dims, or a dim that stays open."""
    inputs = {i.name: i for i in graph.input}
    for name, dims in shapes.items():
        if name not in inputs:
            raise AtcError("E10016", opname=name, parameter="input_shape", more=(f"Inputs of the model: {', '.join(inputs)}.",))
        shape = inputs[name].type.tensor_type.shape
        if inputs[name].type.tensor_type.HasField("shape") and len(shape.dim) != len(dims):
            raise AtcError("E10049", shape_range_size=len(dims), cur_dim_size=len(shape.dim))
        del shape.dim[:]
        for dim in dims:
            made = shape.dim.add()
            if dim >= 0:
                made.dim_value = dim
            else:
                made.dim_param = f"{name}_{len(shape.dim) - 1}"
        shape.SetInParent()
    for name, value in inputs.items():
        tensor = value.type.tensor_type
        if not value.type.HasField("tensor_type"):
            raise AtcError("E10055", reason=f"input {name} is no tensor")
        open_dims = [d.dim_value if d.HasField("dim_value") and d.dim_value >= 0 else -1 for d in tensor.shape.dim]
        if (-1 in open_dims and -1 not in shapes.get(name, ())) or not tensor.HasField("shape"):
            raise AtcError(
                "E10001", value=open_dims, parameter=name, reason="maybe you should set input_shape to specify its shape."
            )
