"""Shape inference: onnx's own, on a copy without the weights, its results written back into the graph."""

from __future__ import annotations

from typing import Any

from npu.graph.errors import AtcError
from npu.graph.microsoft.register import known
from npu.ops.registry import MICROSOFT

SMALL = 1024  # elements: constants up to here may hold shapes and travel along, larger ones only as typed inputs


def infer(proto: Any, strict: bool = False) -> None:
    """Fill value_info and the outputs of the graph with inferred types.

    onnx's data propagation stays off: it hangs on a Range of 2^32 elements and gives wrong ranks for some Reshape targets;
    folding and inferring in turn gets as far. strict: AtcError E19999 when a node cannot take its inputs.
    """
    from onnx import shape_inference

    graph, light = proto.graph, without_weights(proto)
    try:
        with known(proto):
            inferred = shape_inference.infer_shapes(light).graph
            if strict and _missing(inferred):
                shape_inference.infer_shapes(light, strict_mode=True)
    except (shape_inference.InferenceError, RuntimeError, TypeError, ValueError) as error:
        raise AtcError("E19999", reason="InferShapeAndType failed.", more=(" ".join(str(error).split())[:600],)) from error
    misfit = _misfit(light, inferred) if strict else None
    if misfit is not None:
        what = f"{misfit.op_type} {misfit.name}: operands of such shapes do not fit each other."
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


def _misfit(light: Any, inferred: Any) -> Any:
    """The first node of com.microsoft whose operands are known and whose results are not; None when there is none."""
    given = (*inferred.value_info, *inferred.output, *inferred.input)
    ranked = {v.name for v in given if v.type.tensor_type.HasField("shape")} | {t.name for t in light.graph.initializer}
    for node in inferred.node:
        known_in, known_out = (ranked.issuperset(filter(None, names)) for names in (node.input, node.output))
        if node.domain == MICROSOFT and known_in and not known_out:
            return node
    return None
