"""Shape inference: onnx's own, on a copy without the weights, its results written back into the graph."""

from __future__ import annotations

import re
from math import prod
from typing import Any

from npu.graph import custom
from npu.graph.errors import AtcError
from npu.graph.microsoft.register import known
from npu.ops.registry import DOMAINS, MICROSOFT

WINDOWED = {"Conv", "ConvInteger", "QLinearConv", "MaxPool", "AveragePool", "LpPool"}
NODE = re.compile(r"node name: ([^)]*)\)")
SMALL = 1024  # elements: constants up to here may hold shapes and travel along, larger ones only as typed inputs


def infer(proto: Any) -> None:
    """Fill value_info and the outputs of the graph with inferred types.

    onnx's data propagation stays off: it hangs on a Range of 2^32 elements and gives wrong ranks for some Reshape targets;
    folding and inferring in turn gets as far. AtcError E19999 where onnx gives up altogether.
    """
    graph, light = proto.graph, without_weights(proto)
    inferred = _inferred(light)
    del graph.value_info[:]
    weights = {t.name for t in graph.initializer}
    graph.value_info.extend(v for v in inferred.value_info if v.name not in weights)
    for output, found in zip(graph.output, inferred.output, strict=True):
        output.CopyFrom(found)


def judge(proto: Any) -> None:
    """AtcError E19999 when a node cannot take its inputs, as far as the types say that stand in the graph after infer()."""
    graph = proto.graph
    if _missing(graph):
        light = without_weights(proto)
        light.graph.value_info.extend(graph.value_info)
        _inferred(light, strict=True)
    for unfit in (_unequal_types, _unequal_elements, _no_room):
        said = unfit(proto)
        if said:
            raise AtcError("E19999", reason="InferShapeAndType failed.", more=(said,))
    misfit = _misfit(graph)
    if misfit is not None:
        why = custom.why(misfit, graph) or "operands of such shapes do not fit each other."
        what = f"{misfit.op_type} {misfit.name}: {why}"
        raise AtcError("E19999", reason="InferShapeAndType failed.", more=(what,))


def _inferred(light: Any, strict: bool = False) -> Any:
    """The GraphProto with inferred types. strict: no node may be left without."""
    from onnx import shape_inference

    try:
        with known(light):
            return shape_inference.infer_shapes(light, strict_mode=strict).graph
    except (shape_inference.InferenceError, RuntimeError, TypeError, ValueError) as error:
        more = (" ".join(str(error).split())[:600], *_operands(str(error), light.graph))
        raise AtcError("E19999", reason="InferShapeAndType failed.", more=more) from error


def without_weights(proto: Any) -> Any:
    """A copy of a model whose large weights are typed inputs: what looks at the structure need not carry them."""
    from onnx import helper

    graph = proto.graph
    light = type(proto)(ir_version=max(proto.ir_version, 8))
    light.opset_import.extend(proto.opset_import)
    light.functions.extend(proto.functions)
    light.graph.name = graph.name or "graph"
    light.graph.node.extend(graph.node)
    light.graph.input.extend(graph.input)
    light.graph.output.extend(graph.output)
    for tensor in graph.initializer:
        if _elements(tensor) <= SMALL:
            light.graph.initializer.append(tensor)
        else:
            light.graph.input.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims)))
    return light


def _elements(tensor: Any) -> int:
    count = 1
    for dim in tensor.dims:
        count *= dim
    return count


def _missing(graph: Any) -> bool:
    """True when some node's result has no type or rank: inference gave up there, and the strict mode says why."""
    typed = {
        v.name
        for v in (*graph.value_info, *graph.output, *graph.input)
        if v.type.WhichOneof("value") and (not v.type.HasField("tensor_type") or v.type.tensor_type.HasField("shape"))
    }
    return any(o and o not in typed for n in graph.node for o in n.output if not n.domain)


def _typed(graph: Any) -> dict[str, tuple[int, list[int] | None]]:
    """(element type, shape with -1 for open dims) of every value whose type is known; None for a shape of unknown rank."""
    made: dict[str, tuple[int, list[int] | None]] = {}
    for value in (*graph.input, *graph.value_info, *graph.output):
        tensor = value.type.tensor_type
        if value.type.HasField("tensor_type"):
            dims = [int(d.dim_value) if d.HasField("dim_value") else -1 for d in tensor.shape.dim]
            made[value.name] = (tensor.elem_type, dims if tensor.HasField("shape") else None)
    return made | {t.name: (t.data_type, list(t.dims)) for t in graph.initializer}


def _operands(said: str, graph: Any) -> tuple[str, ...]:
    """One line with the shapes of the inputs of the node an error of onnx names; nothing when it names none."""
    found = NODE.search(said)
    node = next((n for n in graph.node if found and n.name == found[1]), None)
    if node is None:
        return ()
    typed = _typed(graph)
    shapes = ", ".join(f"{name} {typed[name][1]}" for name in node.input if name in typed and typed[name][1] is not None)
    return (f"Inputs of {node.name}: {shapes}.",) if shapes else ()


def _parameters(op_type: str, opset: int) -> list[str]:
    """For each formal input the type parameter it shares with others, "" where it shares none."""
    from onnx import defs

    if not defs.has(op_type, opset):
        return []
    schema = defs.get_schema(op_type, opset, "")
    kinds = {c.type_param_str for c in schema.type_constraints}
    return [i.type_str if i.is_homogeneous and i.type_str in kinds else "" for i in schema.inputs]


def _unequal_types(proto: Any) -> str:
    """The first node whose inputs of one type parameter have different element types."""
    from onnx import TensorProto

    graph, formal = proto.graph, {}
    typed = _element_types(graph)
    opset = next((o.version for o in proto.opset_import if o.domain in DOMAINS), 1)
    for node in graph.node:
        if node.domain not in DOMAINS or len(node.input) < 2:
            continue
        if node.op_type not in formal:
            formal[node.op_type] = _parameters(node.op_type, opset)
        given = formal[node.op_type]
        seen: dict[str, tuple[str, int]] = {}
        for at, name in enumerate(node.input if given else ()):
            parameter, kind = given[min(at, len(given) - 1)], typed.get(name, 0)
            if not parameter or not kind:
                continue
            first, other = seen.setdefault(parameter, (name, kind))
            if other != kind:
                both = f"{first} is {TensorProto.DataType.Name(other)}, {name} is {TensorProto.DataType.Name(kind)}"
                return f"{node.op_type} {node.name}: its inputs must have one data type: {both}."
    return ""


def _element_types(graph: Any) -> dict[str, int]:
    """TensorProto.DataType of every tensor whose type is known; 0 for what is no tensor."""
    values = {v.name: v.type.tensor_type.elem_type for v in (*graph.input, *graph.value_info, *graph.output)}
    return values | {t.name: t.data_type for t in graph.initializer}


def _unequal_elements(proto: Any) -> str:
    """The first Reshape to a constant shape of another number of elements than its input has; onnx judges those with a -1."""
    from onnx import numpy_helper

    graph = proto.graph
    if not any(n.op_type == "Reshape" for n in graph.node):
        return ""
    typed = _typed(graph)
    constant = {t.name: t for t in graph.initializer if _elements(t) <= SMALL}
    for node in graph.node:
        if node.op_type != "Reshape" or node.domain not in DOMAINS or len(node.input) != 2 or node.input[1] not in constant:
            continue
        dims = typed.get(node.input[0], (0, None))[1]
        if dims is None or -1 in dims or any(a.name == "allowzero" and a.i for a in node.attribute):
            continue
        wanted = [int(v) for v in numpy_helper.to_array(constant[node.input[1]]).reshape(-1)]
        target = [dims[at] if v == 0 and at < len(dims) else v for at, v in enumerate(wanted)]
        if -1 not in target and prod(dims) != prod(target):
            return f"Reshape {node.name}: {prod(dims)} elements of shape {dims} do not go into shape {wanted}."
    return ""


def _no_room(proto: Any) -> str:
    """The first convolution or pooling whose window is larger than its picture: nothing would come out."""
    graph = proto.graph
    windowed = {n.output[0]: n for n in graph.node if n.op_type in WINDOWED and not n.domain}
    for value in (*graph.value_info, *graph.output):
        if value.name not in windowed:
            continue
        if any(d.HasField("dim_value") and d.dim_value < 1 for d in value.type.tensor_type.shape.dim[2:]):
            node = windowed[value.name]
            before = _typed(graph).get(node.input[0], (0, None))[1]
            if before is not None and min(before[2:], default=0) > 0:  # a picture that is empty itself may stay so
                what = f"its window does not fit into the input of shape {before}, nothing would come out."
                return f"{node.op_type} {node.name}: {what}"
    return ""


def _misfit(graph: Any) -> Any:
    """The first node of com.microsoft or of a user's domain whose operands are known and whose results are not, or None."""
    others = [n for n in graph.node if n.domain == MICROSOFT or custom.ours(n.domain)]
    if not others:
        return None
    given = (*graph.value_info, *graph.output, *graph.input)
    ranked = {v.name for v in given if v.type.tensor_type.HasField("shape")} | {t.name for t in graph.initializer}
    for node in others:
        known_in, known_out = (ranked.issuperset(filter(None, names)) for names in (node.input, node.output))
        if known_in and not known_out:
            return node
    return None
