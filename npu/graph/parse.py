"""From an ONNX file to a clean graph: constants lifted, inputs fixed, shapes inferred, every node named.

Everything here works on the protobuf, which is much cheaper than on an IR: models of hundreds of Constant nodes are common.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from npu.graph import custom, light_file, weights
from npu.graph.checks import NEWEST_OPSET, check_names, check_nodes, check_operators, check_versions, check_weights
from npu.graph.errors import AtcError
from npu.graph.input_shape import apply_shapes
from npu.graph.shapes import infer
from npu.graph.walk import graphs, nodes, rename
from npu.graph.written_out import write_out
from npu.om import MAX_BYTES

IR = 10  # written: the first with metadata on nodes
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


BESIDE = "The model keeps weights in a file of their own: copy that file beside the model, under the same name."
INSIDE = "The file of the weights must lie in the model's folder: save the model again with a plain file name as its location."
# first bytes of files that are often given instead of a model -> what they are and what to do
OTHERS = (
    (b"PK\x03\x04", "It is a zip archive, as a PyTorch checkpoint (.pt, .pth) is: export the model with torch.onnx.export."),
    (b"version https://git-lfs", "It is a Git LFS pointer, not the file itself: fetch it with git lfs pull."),
    (b"<", "It is a web page or XML, not a model: download the file again."),
)


@dataclass(frozen=True)
class Source:
    """A model as it is read: checked, constants lifted, nothing of it depends on shapes. large: the data of the large weights,
    which the proto is without."""

    proto: Any
    large: weights.Weights


@dataclass
class Parsed:
    """A model ready for the passes. stored: the shapes the file claimed for its values, open dims -1; large: as of Source."""

    proto: Any
    stored: dict[str, tuple[int, ...]]
    large: weights.Weights


def read_checked(path: Path, newest: int = NEWEST_OPSET) -> Source:
    """Read a model, check it and lift its constants. AtcError names what is wrong with the file or an operator. newest: the
    highest operator set that is taken."""
    large: weights.Weights = {}
    proto = read(path, large)
    opset = check_versions(proto, path)
    check_weights(proto, path, large)
    custom.offer(proto)
    if proto.functions:
        from onnx.inliner import inline_local_functions

        proto = inline_local_functions(proto)
    graph = proto.graph
    name_nodes(graph)
    check_names(graph, path)
    write_out(proto, opset)
    check_operators(proto, opset, newest)
    check_nodes(proto, path)
    state_defaults(graph)
    lift_constants(graph)
    drop_overridable(graph)
    proto.ir_version = IR
    return Source(proto, large | weights.set_aside(graph))


def parse(
    checked: Source, shapes: Mapping[str, tuple[int, ...]], out_nodes: tuple[str, ...] = (), output_type: str = "",
    fp16_nodes: tuple[str, ...] = (),
) -> Parsed:  # fmt: skip
    """A copy of a checked model with fixed inputs and inferred shapes. AtcError names what is wrong with --input_shape,
    --out_nodes or --input_fp16_nodes."""
    proto = type(checked.proto)()
    proto.CopyFrom(checked.proto)
    graph = proto.graph
    apply_shapes(graph, shapes)
    take_fp16(graph, fp16_nodes)
    if out_nodes:
        choose_outputs(graph, out_nodes)
    stored = declared_shapes(graph)
    infer(proto)
    if output_type and cast_outputs(graph, OUTPUT_TYPES[output_type]):
        infer(proto)
    return Parsed(proto, stored, dict(checked.large))


def read(path: Path, large: weights.Weights | None = None) -> Any:
    """The ModelProto of a file. AtcError E13001, E13003, E13005, E13023. large: takes the data of the large weights, without
    which the model is read then."""
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
    from onnx import ModelProto
    from onnx.checker import ValidationError
    from onnx.external_data_helper import load_external_data_for_model

    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise AtcError("E13023", item="model file", size=size, maxsize=MAX_BYTES)
        if not size:
            raise AtcError("E13005", file=path, more=("The file is empty (0 bytes): export or copy it again.",))
        data = _data(path, large)
    except FileNotFoundError:
        raise AtcError("E13001", file=path, errmsg="No such file or directory") from None
    except OSError as error:
        raise AtcError("E13003", file=path, errmsg=error.strerror) from error
    proto = ModelProto()
    try:
        proto.ParseFromString(data)
        load_external_data_for_model(proto, str(path.parent))
    except (DecodeError, UnicodeDecodeError) as error:
        raise AtcError("E13005", file=path, more=(str(error), *other_file(data))) from error
    except ValidationError as error:  # the helper's word for a file of weights that is not there, or not where it may be
        next_step = INSIDE if "outside" in str(error) else BESIDE
        raise AtcError("E10041", parameter=path, more=(f"external data: {error}", next_step)) from error
    except (OSError, ValueError, TypeError) as error:
        raise AtcError("E10041", parameter=path, more=(f"external data: {error}",)) from error
    return proto


def _data(path: Path, large: weights.Weights | None) -> bytes:
    if large is None:
        return path.read_bytes()
    try:
        data, cut = light_file.split(path)
    except (ValueError, IndexError):  # the parser has the words for what is wrong
        return path.read_bytes()
    large |= cut
    return data


def other_file(data: bytes) -> tuple[str, ...]:
    """What a file that is no model seems to be; nothing where its first bytes do not say."""
    return tuple(said for begin, said in OTHERS if data.lstrip()[:64].startswith(begin))


def name_nodes(graph: Any) -> None:
    """Nodes without a name get OpType_number, names used twice a number behind: profiles and --out_nodes need them."""
    taken: set[str] = set()
    for number, node in enumerate(graph.node):
        base = node.name or f"{node.op_type}_{number}"
        name, again = base, 1
        while name in taken:
            again += 1
            name = f"{base}_{again}"
        node.name = name
        taken.add(name)


def state_defaults(graph: Any) -> None:
    """MeanVarianceNormalization says its axes: onnx's inference expands it without the default of that attribute and fails."""
    from onnx import helper

    for node in nodes(graph):
        if node.op_type == "MeanVarianceNormalization" and not node.domain and not node.attribute:
            node.attribute.append(helper.make_attribute("axes", [0, 2, 3]))


def lift_constants(graph: Any) -> None:
    """Constant nodes become initializers, in subgraphs too: passes look for weights there."""
    from onnx import helper, numpy_helper

    plain = {"value_float": 1, "value_floats": 1, "value_int": 7, "value_ints": 7, "value_string": 8, "value_strings": 8}
    for inner in graphs(graph):
        kept = []
        for node in inner.node:
            attribute = node.attribute[0] if node.op_type == "Constant" and not node.domain and len(node.attribute) == 1 else None
            if attribute is None or attribute.ref_attr_name or (attribute.name != "value" and attribute.name not in plain):
                kept.append(node)
                continue
            if attribute.name == "value":
                tensor = inner.initializer.add()
                tensor.CopyFrom(attribute.t)
            else:
                value = helper.get_attribute_value(attribute)
                dims = [len(value)] if attribute.name.endswith("s") else []
                tensor = inner.initializer.add()
                tensor.CopyFrom(helper.make_tensor(node.output[0], plain[attribute.name], dims, value if dims else [value]))
            tensor.name = node.output[0]
        if len(kept) != len(inner.node):
            copies = [type(n).FromString(n.SerializeToString()) for n in kept]
            del inner.node[:]
            inner.node.extend(copies)
        for sparse in inner.sparse_initializer:
            dense = inner.initializer.add()
            dense.CopyFrom(numpy_helper.from_array(_dense(sparse), sparse.values.name))
        del inner.sparse_initializer[:]


def _dense(sparse: Any) -> Any:
    import numpy as np
    from onnx import numpy_helper

    values, indices = numpy_helper.to_array(sparse.values), numpy_helper.to_array(sparse.indices)
    made = np.zeros(tuple(sparse.dims), values.dtype)
    if indices.ndim == 1:
        made.reshape(-1)[indices] = values
    else:
        made[tuple(indices.T)] = values
    return made


def drop_overridable(graph: Any) -> None:
    """Files of IR version 3 list weights among the inputs too: they would count as changeable and stop folding."""
    weights = {i.name for i in graph.initializer}
    kept = [i for i in graph.input if i.name not in weights]
    if len(kept) != len(graph.input):
        copies = [type(i).FromString(i.SerializeToString()) for i in kept]
        del graph.input[:]
        graph.input.extend(copies)


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


def declared_shapes(graph: Any) -> dict[str, tuple[int, ...]]:
    """Take the stored shapes of values and outputs out of the graph (they lie often enough) and give them back, open dims -1."""
    stored = {}
    for value in (*graph.value_info, *graph.output):
        tensor = value.type.tensor_type
        if tensor.HasField("shape"):
            stored[value.name] = tuple(int(d.dim_value) if d.HasField("dim_value") else -1 for d in tensor.shape.dim)
            tensor.ClearField("shape")
    del graph.value_info[:]
    return stored


def complete_outputs(graph: Any, stored: Mapping[str, tuple[int, ...]]) -> None:
    """An output whose rank depends on the data gets the rank the file claimed, all dims open: a valid model states one."""
    for output in graph.output:
        tensor = output.type.tensor_type
        if output.type.HasField("tensor_type") and not tensor.HasField("shape"):
            tensor.shape.SetInParent()
            for _ in stored.get(output.name, ()):
                tensor.shape.dim.add()


def contradictions(graph: Any, stored: Mapping[str, tuple[int, ...]]) -> list[str]:
    """One line for each stored shape that the inferred one refutes, with the node that makes the value."""
    makers = {o: n.name for n in graph.node for o in n.output}
    lines = []
    for value in (*graph.value_info, *graph.output):
        old = stored.get(value.name)
        tensor = value.type.tensor_type
        if old is None or not tensor.HasField("shape") or value.name not in makers:
            continue
        new = tuple(int(d.dim_value) if d.HasField("dim_value") else -1 for d in tensor.shape.dim)
        if len(old) != len(new) or any(a >= 0 and b >= 0 and a != b for a, b in zip(old, new, strict=True)):
            lines.append(
                f"node {makers[value.name]}: the stored shape {list(old)} of {value.name} contradicts "
                f"the inferred shape {list(new)}; the inferred one is used"
            )
    return lines
