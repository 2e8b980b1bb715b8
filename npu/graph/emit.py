"""Writes the .om: a valid ONNX model of kernel calls, functions, weights and metadata, sealed with its digest."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from npu import om
from npu.graph.errors import AtcError
from npu.graph.kernels import DOMAIN, call, function
from npu.graph.parse import IR
from npu.graph.plan import HALF, Plan
from npu.graph.precision import exact_names, round_inputs, round_results, round_weights
from npu.ops.node import Operand


def assemble(source: Any, plan: Plan, types: Mapping[str, Operand], model: om.Model, precision: str) -> Any:
    """The ModelProto of a planned graph. source: the ModelProto the plan was made from."""
    from onnx import ModelProto

    graph = source.graph
    made = ModelProto(ir_version=IR, producer_name="npuscope atc")
    made.opset_import.extend(o for o in source.opset_import if o.domain != DOMAIN)
    functions: dict[str, Any] = {}
    exact = exact_names(graph.node) if precision == HALF else set()
    nodes: list[Any] = []
    for step in plan.steps:
        name = ""
        if step.unit.label:
            inner = (
                {o for n in step.unit.nodes for o in n.output if o not in step.unit.outputs}
                if step.unit.members.rounds
                else set()
            )
            halves = {o for o in inner if precision == HALF and o in types and types[o].dtype == "float32" and o not in exact}
            body = function(step.unit, source.opset_import, halves)
            name = functions.setdefault(body.name, body).name
        node = call(step.unit, name)
        rounded = set()
        if precision == HALF and step.lowered is not None and step.lowered.computes:
            rounded = {o for o in node.output if o in types and types[o].dtype == "float32" and o not in exact}
        nodes += round_results(node, rounded)
    if functions:
        made.opset_import.add(domain=DOMAIN, version=1)
        made.functions.extend(functions.values())
    made.graph.name = graph.name or "model"
    made.graph.input.extend(graph.input)
    made.graph.output.extend(graph.output)
    made.graph.initializer.extend(graph.initializer)
    if precision == HALF:
        round_weights(made.graph.initializer, exact)
        nodes = round_inputs(graph, nodes, exact)
    made.graph.node.extend(nodes)
    border = {o for step in plan.steps for o in step.unit.outputs} - {o.name for o in graph.output}
    made.graph.value_info.extend(v for v in graph.value_info if v.name in border)
    for key, value in om.to_metadata(model).items():
        made.metadata_props.add(key=key, value=value)
    return made


def write(made: Any, path: Path) -> int:
    """Check and write the model; gives its bytes. AtcError for an invalid, too large or unwritable one."""
    import onnx

    size = made.ByteSize()
    if size > om.MAX_BYTES:
        raise AtcError("E13023", item="OM model", size=size, maxsize=om.MAX_BYTES)
    data = made.SerializeToString(deterministic=True)
    try:
        onnx.checker.check_model(data)
    except onnx.checker.ValidationError as error:
        what = " ".join(str(error).split())[:600]
        raise AtcError("E19999", reason="The optimised graph is not valid.", more=(what,)) from error
    data = om.seal(data)
    partial = path.with_name(path.name + ".part")
    try:
        partial.write_bytes(data)
        partial.replace(path)
    except OSError as error:
        raise AtcError("E13004", file=path, errmsg=error.strerror) from error
    return len(data)
