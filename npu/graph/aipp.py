"""Preprocessing in a model's graph: a kernel before the first reader of an input, and the input a picture instead of planes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from npu import om
from npu.aipp import FORMATS, Aipp
from npu.graph.aipp_config import Op, refuse, resolve
from npu.graph.errors import AtcError
from npu.graph.kernels import Members
from npu.graph.types import operand
from npu.graph.walk import rename
from npu.ops import aipp
from npu.ops.node import Operand

FLOAT = 1  # TensorProto.DataType
FLOATS = {FLOAT: False, 10: True}  # TensorProto.DataType -> half


def planned(
    ops: Sequence[Op], graph: Any, gears: Sequence[Mapping[str, tuple[int, ...]]] = (), fp16_nodes: Sequence[str] = ()
) -> tuple[Aipp, ...]:
    """The preprocessing of a graph's inputs. gears: the several shapes of the model's; fp16_nodes: --input_fp16_nodes, which
    cannot be among them. AtcError E10034, E10052, E10055, E70014."""
    inputs = {v.name: v for v in graph.input}
    made = [resolve(op, list(inputs), lambda name: operand(inputs[name]).dims) for op in ops]
    if len({a.input for a in made}) != len(made):
        raise refuse("an input can have one AIPP only")
    for each in made:
        if each.input in fp16_nodes:
            raise AtcError("E10034", opname=each.input)
        if inputs[each.input].type.tensor_type.elem_type not in FLOATS:
            raise refuse(f"input {each.input} is no floating-point tensor: AIPP gives float16")
        if each.settings is None and min(each.dims) < 1 and not gears:
            raise AtcError("E10055", reason="dynamic AIPP in a model of open shapes; fix --input_shape, or give its gears")
    return tuple(
        replace(a, pictures=max(g[a.input][0] for g in gears)) if a.settings is None and a.dims[0] < 1 and gears else a
        for a in made
    )


def insert(graph: Any, wanted: Sequence[Aipp]) -> tuple[list[Members], dict[str, Operand]]:
    """Put the kernels into a GraphProto. Gives their groups, and the operands that replace those of the inputs: what the kernels
    read. A dynamic one has no arithmetic here: its settings come at run time, and with them what it does."""
    groups: list[Members] = []
    read: dict[str, Operand] = {}
    for number, each in enumerate(wanted):
        value = next(v for v in graph.input if v.name == each.input)
        planes = f"{each.input}/aipp"
        made = graph.value_info.add()
        made.CopyFrom(value)
        made.name = planes
        rename(graph, each.input, planes)
        half = FLOATS[value.type.tensor_type.elem_type]
        batch = max(each.dims[0], 1)
        if each.settings is None:
            nodes = [_planes(each.input, planes, half)]
            value.type.tensor_type.elem_type = FLOAT  # what npu.ops.aipp makes
            size = each.largest
            read[each.input] = Operand(each.input, "uint8", (1, each.largest))
        else:
            nodes = aipp.nodes(each.settings, each.dims[1], each.input, planes, half)
            size = each.settings.bytes * batch
            read[each.input] = Operand(each.input, "uint8", picture_dims(each))
            _as_bytes(value, each.settings.bytes)
        kept = [type(n).FromString(n.SerializeToString()) for n in graph.node]
        del graph.node[:]
        graph.node.extend([*nodes, *kept])
        names = tuple(n.name for n in nodes)
        groups.append(Members(names, aipp.NAME, names[0], aipp.NAME, (size,), title=f"aipp_node{number}"))
    return groups, read


def _planes(source: str, target: str, half: bool) -> Any:
    from onnx import helper

    return helper.make_node("Cast", [source], [target], name=f"{target}/0", to=aipp.HALF if half else aipp.FLOAT)


def _as_bytes(value: Any, count: int) -> None:
    tensor = value.type.tensor_type
    tensor.elem_type = aipp.BYTE
    first = type(tensor.shape.dim[0]).FromString(tensor.shape.dim[0].SerializeToString())
    del tensor.shape.dim[:]
    tensor.shape.dim.add().CopyFrom(first)
    tensor.shape.dim.add().dim_value = count


def picture_dims(wanted: Aipp, batch: int | None = None) -> tuple[int, ...]:
    """[N, H, W, C] of the pictures an input takes; of those that say their size at run time, the bytes of all."""
    made = wanted.settings
    if made is None:
        return 1, wanted.largest
    return (wanted.dims[0] if batch is None else batch), made.height, made.width, FORMATS[made.format].channels


def tensor(given: om.Tensor, wanted: Sequence[Aipp]) -> om.Tensor:
    """An input of the model as scripts see it: bytes of pictures where it has preprocessing."""
    for each in wanted:
        if each.input == given.name:
            if each.settings is None and min(each.dims) < 1:
                return replace(given, dtype="uint8", dims=each.dims, format="NCHW")
            picture = each.settings.bytes if each.settings is not None else 0
            return replace(given, dtype="uint8", dims=picture_dims(each), format="NHWC", picture=picture)
    return given


def shapes(given: Mapping[str, tuple[int, ...]], wanted: Sequence[Aipp]) -> dict[str, tuple[int, ...]]:
    """Shapes of inputs by name, with those of pictures where they have preprocessing that stands in the model."""
    found = {a.input: a for a in wanted if a.settings is not None}
    return {n: picture_dims(found[n], d[0]) if n in found else tuple(d) for n, d in given.items()}
