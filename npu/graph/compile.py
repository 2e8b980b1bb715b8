"""The conversion from start to end: parse, fold, fuse, plan, emit."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from npu import om
from npu.dtypes import DTYPES
from npu.graph import emit, fusion_result
from npu.graph.errors import AtcError
from npu.graph.kernels import units
from npu.graph.options import Options
from npu.graph.parse import complete_outputs, contradictions, parse
from npu.graph.passes import constant_folding, dead_nodes, registry
from npu.graph.passes.base import NearMiss, Outcome, Work
from npu.graph.plan import PLANES, make_plan
from npu.graph.shapes import infer
from npu.graph.switches import Switches, read_switches
from npu.graph.types import operands
from npu.ops.node import Misfit, Operand

CANN = "8.3.RC1"  # the generation the simulated stack speaks for (design: default machine)


@dataclass(frozen=True)
class Summary:
    """What a conversion gave. counts: kind -> pass -> how often it matched and took effect; seconds without imports."""

    path: Path
    model: om.Model
    counts: dict[str, dict[str, Outcome]]
    near_misses: tuple[NearMiss, ...]
    warnings: tuple[str, ...]
    bytes: int
    seconds: float


def compile(options: Options, cann: str = CANN) -> Summary:
    """Convert a model file. AtcError when it is refused; nothing is written then."""
    import onnx  # noqa: F401  imports are not part of the conversion time
    import onnx_ir as ir
    import onnxruntime  # noqa: F401

    start = time.perf_counter()
    switches = read_switches(options.switches) if options.switches is not None else Switches()
    parsed = parse(options.model, options.shapes, options.out_nodes, options.output_type)
    constant_folding.run(parsed.proto)
    dead_nodes.run(parsed.proto)
    infer(parsed.proto, strict=True)
    complete_outputs(parsed.proto.graph, parsed.stored)
    graph_model = ir.from_proto(parsed.proto)
    work = Work(graph_model.graph)
    counts, misses = registry.run(work, switches)
    groups = [(tuple(str(n.name) for n in g.nodes), g.label) for g in work.groups]
    graph_model.graph.sort()
    proto = ir.to_proto(graph_model)
    dead_nodes.run(proto)
    types = operands(proto.graph)
    check_borders(proto.graph, types)
    inputs, outputs = ([v.name for v in group] for group in (proto.graph.input, proto.graph.output))
    try:
        plan = make_plan(units(proto.graph, groups), types, inputs, outputs, options.precision, options.input_format,
                         options.reuse_memory)
    except Misfit as error:
        raise AtcError("E19999", reason="InferShapeAndType failed.", more=(str(error),)) from error
    warnings = [*contradictions(parsed.proto.graph, parsed.stored), *unknown_passes(switches)]
    model = om.Model(
        soc=options.soc, build=build_record(options, cann, counts, misses, sum(t.bytes for t in types.values() if t.constant)),
        inputs=tuple(_tensor(types[n], options.input_format) for n in inputs),
        outputs=tuple(_tensor(types[n], options.input_format) for n in outputs),
        kernels=plan.kernels, memory=plan.memory)
    size = emit.write(emit.assemble(proto, plan, types, model, options.precision), options.output)
    if options.statistics:
        fusion_result.write(fusion_result.where(os.getpid()), counts)
    return Summary(options.output, model, counts, tuple(misses), tuple(warnings), size, time.perf_counter() - start)


def unknown_passes(switches: Switches) -> list[str]:
    """One line for each pass the switch file names and the simulated ATC does not have."""
    ours = {p.name for p in registry.PASSES}
    return [f"the fusion switch file names {n}, which the simulated ATC does not have" for n in switches.names() if n not in ours]


def build_record(options: Options, cann: str, counts: dict[str, dict[str, Outcome]], misses: Sequence[NearMiss],
                 weight_bytes: int) -> dict[str, Any]:
    """What the model file says about its making. weight_bytes: the weights as they lie in the file."""
    return {
        "cann": cann, "command": options.command, "soc_version": options.soc, "precision_mode": options.precision, "framework": 5,
        "fusion": {name: o.effected for passes in counts.values() for name, o in passes.items()},
        "weight_bytes": weight_bytes,
        "near_misses": [[m.fusion, m.node, m.reason] for m in misses],
    }


def check_borders(graph: Any, types: dict[str, Operand]) -> None:
    """AtcError E10055 for an input or output that no model file can have."""
    for value in (*graph.input, *graph.output):
        if types[value.name].dtype not in DTYPES:
            raise AtcError("E10055", reason=f"{value.name} is no tensor of a type that a model input or output can have")


def _tensor(value: Operand, input_format: str) -> om.Tensor:
    known = PLANES if input_format != "ND" else {}
    return om.Tensor(value.name, value.dtype, value.dims if value.ranked else (-1,), known.get(len(value.dims), "ND"))
