"""What options change at the border of a model: which outputs it has, and the element types of inputs and outputs."""

from __future__ import annotations

from typing import Any

from npu.graph.errors import AtcError
from npu.graph.walk import rename

# --output_type -> TensorProto.DataType
OUTPUT_TYPES = {
    "FP32": 1,
    "FP16": 10,
    "INT8": 3,
    "UINT8": 2,
    "INT16": 5,
    "UINT16": 4,
    "INT32": 6,
    "UINT32": 12,
    "INT64": 7,
    "UINT64": 13,
    "DOUBLE": 11,
}


def choose_outputs(graph: Any, wanted: tuple[str, ...]) -> None:
    """--out_nodes: "node:number" or names of values. AtcError E11017 for one that is not there."""
    nodes = {n.name: n for n in graph.node}
    values = {o for n in graph.node for o in n.output}
    chosen = []
    for text in wanted:
        name, colon, number = text.rpartition(":")
        if colon and name in nodes and number.isdecimal() and int(number) < len(nodes[name].output):
            chosen.append(nodes[name].output[int(number)])
        elif text in values:
            chosen.append(text)
        else:
            raise AtcError("E11017", opname=text)
    del graph.output[:]
    for name in chosen:
        graph.output.add().name = name


def take_fp16(graph: Any, names: tuple[str, ...]) -> None:
    """--input_fp16_nodes: these float32 inputs are given as float16, a Cast behind each. AtcError E10016, E10001."""
    from onnx import TensorProto, helper

    inputs = {value.name: value.type.tensor_type for value in graph.input}
    for name in names:
        if name not in inputs:
            raise AtcError("E10016", opname=name, parameter="input_fp16_nodes")
        if inputs[name].elem_type == TensorProto.FLOAT16:
            continue
        if inputs[name].elem_type != TensorProto.FLOAT:
            raise AtcError("E10001", value=name, parameter="--input_fp16_nodes", reason="the input is no float32 one.")
        inputs[name].elem_type = TensorProto.FLOAT16
        inner = f"{name}/as_float32"
        rename(graph, name, inner)
        graph.node.insert(0, helper.make_node("Cast", [name], [inner], name=f"{name}/input_cast", to=TensorProto.FLOAT))


def cast_outputs(graph: Any, wanted: int) -> int:
    """--output_type: a Cast before each output of another element type. Gives how many were needed."""
    from onnx import helper

    made = 0
    for output in graph.output:
        if output.type.tensor_type.elem_type == wanted:
            continue
        inner = output.name + "/before_cast"
        rename(graph, output.name, inner)
        graph.node.append(helper.make_node("Cast", [inner], [output.name], name=f"{output.name}/output_cast", to=wanted))
        output.type.tensor_type.elem_type = wanted
        made += 1
    return made
