"""Writes the .om: a valid ONNX model of kernel calls, functions, weights and metadata, sealed with its digest."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from npu import om
from npu.graph import custom
from npu.graph.errors import AtcError
from npu.graph.kernels import DOMAIN, call, function
from npu.graph.parse import IR
from npu.graph.plan import Plan
from npu.graph.precision import ROUNDED, exact_names, pair, read_rounded, round_results, round_weights
from npu.graph.precision_modes import FLOAT
from npu.graph.shapes import without_weights
from npu.graph.weights import sealed, serialised
from npu.ops.node import Operand

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]


def assemble(
    source: Any, large: Mapping[str, Array], plan: Plan, types: Mapping[str, Operand], model: om.Model
) -> tuple[Any, dict[str, Array]]:
    """The ModelProto of a planned graph, and the weights that are placeholders in it. source and large: those of the plan."""
    from onnx import ModelProto

    graph = source.graph
    made = ModelProto(ir_version=IR, producer_name="npuscope atc")
    made.opset_import.extend(o for o in source.opset_import if o.domain != DOMAIN)
    functions: dict[str, Any] = {}
    halves = {c for s in plan.steps for c in (s.choice.reads, s.choice.writes)} - {FLOAT}
    exact = exact_names(graph.node) if halves else set()
    floats = {n for n, t in types.items() if t.dtype == FLOAT and n not in exact}
    held = {o: s.choice.writes for s in plan.steps for o in s.unit.outputs}
    readers = _readers(plan, {n for n in floats if types[n].constant})
    nodes: list[Any] = []
    done: set[str] = set()
    for step in plan.steps:
        name, choice = "", step.choice
        if step.unit.label:
            inner = {o for n in step.unit.nodes for o in n.output} - set(step.unit.outputs) if step.unit.members.rounds else set()
            body = function(step.unit, source.opset_import, inner & floats if choice.writes != FLOAT else (), choice.writes)
            name = functions.setdefault(body.name, body).name
        node = call(step.unit, name)
        if custom.ours(node.domain):
            body = custom.function(node, types, source.opset_import)
            node.domain, node.op_type = DOMAIN, functions.setdefault(body.name, body).name
            del node.attribute[:]
        if choice.reads != FLOAT:
            other = [i for i in step.unit.inputs if i in floats and held.get(i, FLOAT) != choice.reads]
            mixed = [i for i in other if readers.get(i) != {choice.reads}]  # weights of one type are rounded where they lie
            read_rounded(node, mixed)
            for value in (i for i in mixed if not types[i].constant and i not in done):
                nodes += pair(value, value + ROUNDED, choice.reads)
                done.add(value)
        whole = step.lowered is None or not step.lowered.computes or choice.writes == FLOAT
        nodes += round_results(node, set() if whole else floats & set(node.output), choice.writes)
    if functions:
        made.opset_import.add(domain=DOMAIN, version=1)
        made.functions.extend(functions.values())
    made.graph.name = graph.name or "model"
    made.graph.input.extend(graph.input)
    made.graph.output.extend(graph.output)
    made.graph.initializer.extend(graph.initializer)
    weights = dict(large)
    for half in halves:
        alone = {n for n, r in readers.items() if r == {half}}
        round_weights(made.graph.initializer, weights, alone, {n for n, r in readers.items() if half in r} - alone, half)
    made.graph.node.extend(nodes)
    border = {o for step in plan.steps for o in step.unit.outputs} - {o.name for o in graph.output}
    made.graph.value_info.extend(v for v in graph.value_info if v.name in border)
    for key, value in om.to_metadata(model).items():
        made.metadata_props.add(key=key, value=value)
    return made, weights


def _readers(plan: Plan, whole: Collection[str]) -> dict[str, set[str]]:
    """The types in which weights are read."""
    found: dict[str, set[str]] = {}
    for step in plan.steps:
        for name in step.unit.inputs:
            if name in whole:
                found.setdefault(name, set()).add(step.choice.reads)
    return found


def write(made: Any, weights: Mapping[str, Array], path: Path) -> int:
    """Check and write the model; gives its bytes. AtcError for an invalid, too large or unwritable one."""
    import onnx

    light = without_weights(made)
    light.graph.value_info.extend(made.graph.value_info)
    try:
        onnx.checker.check_model(light)
    except onnx.checker.ValidationError as error:
        what = " ".join(str(error).split())[:600]
        raise AtcError("E19999", reason="The optimised graph is not valid.", more=(what,)) from error
    pieces = serialised(made, weights)
    size = sum(map(len, pieces))
    if size > om.MAX_BYTES:
        raise AtcError("E13023", item="OM model", size=size, maxsize=om.MAX_BYTES)
    partial = path.with_name(path.name + ".part")
    try:
        with partial.open("wb") as file:
            written = sum(map(file.write, sealed(pieces)))
        partial.replace(path)
    except OSError as error:
        raise AtcError("E13004", file=path, errmsg=error.strerror) from error
    return written
