"""Shape inference: onnx's own, on a copy without the weights, its results written back into the graph."""

from __future__ import annotations

import re
from math import prod
from typing import Any

from npu.graph import custom
from npu.graph.errors import AtcError
from npu.graph.microsoft.register import known
from npu.ops.registry import DOMAINS, MICROSOFT

NODE = re.compile(r"node name: ([^)]*)\)")
SMALL = 1024  # elements: constants up to here may hold shapes and travel along, larger ones only as typed inputs


def infer(proto: Any, strict: bool = False) -> None:
    """Fill value_info and the outputs of the graph with inferred types.

    onnx's data propagation stays off: it hangs on a Range of 2^32 elements and gives wrong ranks for some Reshape targets;
    folding and inferring in turn gets as far. strict: AtcError E19999 when a node cannot take its inputs.
    """
    from onnx import shape_inference

    graph, light = proto.graph, without_weights(proto)
    inferred = light.graph
    try:
        with known(proto):
            inferred = shape_inference.infer_shapes(light).graph
            if strict and _missing(inferred):
                shape_inference.infer_shapes(light, strict_mode=True)
    except (shape_inference.InferenceError, RuntimeError, TypeError, ValueError) as error:
        more = (" ".join(str(error).split())[:600], *_operands(str(error), light, inferred))
        raise AtcError("E19999", reason="InferShapeAndType failed.", more=more) from error
    for unfit in (_unequal_types, _unequal_elements) if strict else ():
        said = unfit(light, inferred)
        if said:
            raise AtcError("E19999", reason="InferShapeAndType failed.", more=(said,))
    misfit = _misfit(light, inferred) if strict else None
    if misfit is not None:
        why = custom.why(misfit, inferred) or "operands of such shapes do not fit each other."
        what = f"{misfit.op_type} {misfit.name}: {why}"
        raise AtcError("E19999", reason="InferShapeAndType failed.", more=(what,))
    del graph.value_info[:]
    weights = {t.name for t in graph.initializer}
    graph.value_info.extend(v for v in inferred.value_info if v.name not in weights)
    for output, found in zip(graph.output, inferred.output, strict=True):
        output.CopyFrom(found)


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


def _typed(light: Any, inferred: Any) -> dict[str, tuple[int, list[int] | None]]:
    """(element type, shape with -1 for open dims) of every value whose type is known; None for a shape of unknown rank."""
    made: dict[str, tuple[int, list[int] | None]] = {}
    for value in (*inferred.input, *inferred.value_info, *inferred.output):
        tensor = value.type.tensor_type
        if value.type.HasField("tensor_type"):
            dims = [int(d.dim_value) if d.HasField("dim_value") else -1 for d in tensor.shape.dim]
            made[value.name] = (tensor.elem_type, dims if tensor.HasField("shape") else None)
    return made | {t.name: (t.data_type, list(t.dims)) for t in light.graph.initializer}


def _operands(said: str, light: Any, inferred: Any) -> tuple[str, ...]:
    """One line with the shapes of the inputs of the node an error of onnx names; nothing when it names none."""
    found = NODE.search(said)
    node = next((n for n in light.graph.node if found and n.name == found[1]), None)
    if node is None:
        return ()
    typed = _typed(light, inferred)
    shapes = ", ".join(f"{name} {typed[name][1]}" for name in node.input if name in typed and typed[name][1] is not None)
    return (f"Inputs of {node.name}: {shapes}.",) if shapes else ()


def _unequal_types(light: Any, inferred: Any) -> str:
    """The first node whose inputs of one type parameter have different element types."""
    from onnx import TensorProto, defs

    typed = _typed(light, inferred)
    opset = next((o.version for o in light.opset_import if o.domain in DOMAINS), 1)
    for node in light.graph.node:
        if node.domain not in DOMAINS or not defs.has(node.op_type, opset):
            continue
        formal = defs.get_schema(node.op_type, opset, "").inputs
        kinds = {c.type_param_str for c in defs.get_schema(node.op_type, opset, "").type_constraints}
        seen: dict[str, tuple[str, int]] = {}
        for at, name in enumerate(node.input):
            given = formal[min(at, len(formal) - 1)] if formal else None
            if given is None or not given.is_homogeneous or given.type_str not in kinds or not typed.get(name, (0,))[0]:
                continue
            first, kind = seen.setdefault(given.type_str, (name, typed[name][0]))
            if kind != typed[name][0]:
                both = f"{first} is {TensorProto.DataType.Name(kind)}, {name} is {TensorProto.DataType.Name(typed[name][0])}"
                return f"{node.op_type} {node.name}: its inputs must have one data type: {both}."
    return ""


def _unequal_elements(light: Any, inferred: Any) -> str:
    """The first Reshape to a constant shape of another number of elements than its input has; onnx judges those with a -1."""
    from onnx import numpy_helper

    typed = _typed(light, inferred)
    constant = {t.name: t for t in light.graph.initializer}
    for node in light.graph.node:
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


def _misfit(light: Any, inferred: Any) -> Any:
    """The first node of com.microsoft or of a user's domain whose operands are known and whose results are not, or None."""
    given = (*inferred.value_info, *inferred.output, *inferred.input)
    ranked = {v.name for v in given if v.type.tensor_type.HasField("shape")} | {t.name for t in light.graph.initializer}
    for node in inferred.node:
        known_in, known_out = (ranked.issuperset(filter(None, names)) for names in (node.input, node.output))
        if (node.domain == MICROSOFT or custom.ours(node.domain)) and known_in and not known_out:
            return node
    return None
