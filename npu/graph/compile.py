"""The conversion from start to end: parse, fold, fuse, plan, emit."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from npu import om
from npu.aipp import Aipp
from npu.dtypes import DTYPES
from npu.graph import aipp, const_to_attr, emit, fusion_result, notask, weights
from npu.graph.aipp_config import Op, read_config
from npu.graph.bank import found_for
from npu.graph.declared import complete_outputs, contradictions
from npu.graph.errors import AtcError
from npu.graph.kernels import Members, Unit, units
from npu.graph.options import Options
from npu.graph.parse import Source, parse, read_checked
from npu.graph.passes import constant_folding, dead_nodes, registry
from npu.graph.passes.base import GRAPH, UB, NearMiss, Outcome, Work
from npu.graph.plan import PLANES, Plan, Target, make_plan, unplanned
from npu.graph.precision_modes import Precision, precision
from npu.graph.report import totals
from npu.graph.samples import Shapes, samples
from npu.graph.shapes import judge
from npu.graph.switches import EVERY, Switches, read_switches
from npu.graph.types import operands
from npu.ops.node import Misfit, Operand
from npu.soc import find

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


def compile(options: Options, cann: str = CANN, told: Callable[[int, int], None] | None = None) -> Summary:
    """Convert a model file. AtcError when it is refused; nothing is written then. told: hears how many steps are done, of how
    many; a step is reading, one shape, or writing."""
    import onnx  # noqa: F401  imports are not part of the conversion time
    import onnx_ir  # noqa: F401
    import onnxruntime  # noqa: F401

    start = time.perf_counter()
    chip = find(options.soc)
    rounding = precision(options.precision, chip, options.mixlist, options.keep)
    switches = read_switches(options.switches) if options.switches is not None else Switches()
    count = (len(options.gears) or 1 if options.open else 0) + 3
    steps_told = iter(range(1, count + 1))

    def step() -> None:
        if told is not None:
            told(next(steps_told), count)

    checked = read_checked(options.model, options.newest_opset)
    step()
    preprocessing = read_config(options.aipp) if options.aipp is not None else ()
    whole = optimise(checked, options, options.shapes, switches, preprocessing)
    step()
    shapes: list[dict[str, tuple[int, ...]]] = [{**options.shapes, **gear} for gear in options.gears]
    planned = []
    for each in shapes:
        planned.append(_planned(checked, options, each, switches, preprocessing))
        step()
    if options.open and not options.gears:
        sample, fitting = _sampled(checked, options, switches, preprocessing)
        shapes, planned = [sample], [fitting]
        step()
    made = planned[-1] if planned else whole
    plans = [_plan(p, options, rounding) for p in planned]
    steps = _plan(whole, options, rounding) if not planned else unplanned(whole.units, whole.types, rounding, chip)
    plan = largest(plans) if plans else steps
    model = om.Model(
        soc=options.soc,
        build=build_record(options, cann, made, plan, switches) | unfused(checked, options, shapes, rounding, preprocessing),
        inputs=tuple(aipp.tensor(t, whole.aipp) for t in _tensors(whole.proto.graph.input, whole, options)),
        outputs=_tensors(whole.proto.graph.output, whole, options),
        kernels=plan.kernels,
        memory=plan.memory,
        gears=tuple(aipp.shapes(g, whole.aipp) for g in options.gears),
        dynamic=options.open and not options.gears,
        events=() if options.open else plan.events,
        gear_kernels=tuple(labelled(p.kernels, at) for at, p in enumerate(plans)) if options.gears else (),
        planned=aipp.shapes(shapes[0], whole.aipp) if options.open and not options.gears else {},
        aipp=whole.aipp,
        lifetimes=plan.lifetimes,
    )
    size = emit.write(*emit.assemble(whole.proto, whole.large, steps, whole.types, model), options.output)
    step()
    if options.statistics:
        fusion_result.write(fusion_result.where(os.getpid()), made.counts)
    warnings = [*whole.warnings, *unknown_passes(switches)]
    return Summary(options.output, model, made.counts, tuple(made.misses), tuple(warnings), size, time.perf_counter() - start)


@dataclass(frozen=True)
class Optimised:
    """A graph after all passes, its units, and what the passes did. large: the weights that are placeholders in proto."""

    proto: Any
    large: weights.Weights
    types: dict[str, Operand]
    units: list[Unit]
    counts: dict[str, dict[str, Outcome]]
    misses: list[NearMiss]
    warnings: list[str]
    aipp: tuple[Aipp, ...] = ()
    notask: tuple[str, ...] = ()
    attributes: bool = True  # constant axes become those of kernels


def optimise(
    checked: Source, options: Options, shapes: Mapping[str, tuple[int, ...]], switches: Switches, preprocessing: Sequence[Op] = ()
) -> Optimised:
    """Fold and fuse a model under these input shapes. checked: what read_checked gave; it stays as it is."""
    parsed = parse(checked, shapes, options.out_nodes, options.output_type, options.fp16_nodes)
    constant_folding.run(parsed.proto, parsed.large)
    dead_nodes.run(parsed.proto)
    judge(parsed.proto)
    complete_outputs(parsed.proto.graph, parsed.stored)
    made = fuse(parsed.proto, parsed.large, switches, options.open and not options.gears, options.soc)
    proto, large = made.proto, made.large
    dead_nodes.run(proto)
    wanted = aipp.planned(preprocessing, proto.graph, options.gears, options.fp16_nodes)
    more, pictures = aipp.insert(proto.graph, wanted)
    types = operands(proto.graph) | pictures
    check_borders(proto.graph, types)
    free = notask.switched_on(switches, not options.open or bool(options.gears))
    attributes = const_to_attr.switched_on(switches)
    found = contradictions(parsed.proto.graph, parsed.stored)
    return Optimised(
        proto, large, types, units(proto.graph, [*made.groups, *more]), made.counts, made.misses, found, wanted, free, attributes
    )


@dataclass(frozen=True)
class Fused:
    """A graph behind the passes. large: weights that are placeholders in proto; groups: nodes that are one kernel."""

    proto: Any
    large: weights.Weights
    groups: list[Members]
    counts: dict[str, dict[str, Outcome]]
    misses: list[NearMiss]


def fuse(source: Any, large: weights.Weights, switches: Switches, open_shapes: bool, chip: str = "") -> Fused:
    """Run the passes over a ModelProto whose values have types. large: its weights that are placeholders; chip: its name."""
    import onnx_ir as ir

    graph_model = ir.from_proto(source)
    weights.give(graph_model.graph, large)
    work = Work(graph_model.graph, chip)
    counts, misses = registry.run(work, switches, open_shapes)
    groups = [
        Members(tuple(str(n.name) for n in g.nodes), g.label, str(g.head.name), g.kernel, g.dims, g.rounds, g.passes)
        for g in work.groups
    ]
    graph_model.graph.sort()
    taken = weights.take(graph_model.graph)
    proto = ir.to_proto(graph_model)
    weights.bare(proto.graph, taken)
    return Fused(proto, taken, groups, counts, misses)


def _planned(
    checked: Source, options: Options, shapes: Mapping[str, tuple[int, ...]], switches: Switches, preprocessing: Sequence[Op] = ()
) -> Optimised:
    """The model under fixed shapes that a gear or a sample of an open shape stands for. AtcError says which one does not fit."""
    try:
        return optimise(checked, options, shapes, switches, preprocessing)
    except AtcError as error:
        at = "; ".join(f"{n}:{','.join(map(str, d))}" for n, d in shapes.items())
        which = [number for number, gear in enumerate(options.gears, 1) if all(shapes[n] == tuple(d) for n, d in gear.items())]
        gear = f"gear {which[0]} of {len(options.gears)} of --{options.gear_option}: " if which else ""
        error.more = (*error.more, f"{gear}the inputs do not fit each other in the shapes {at}")
        raise


def _sampled(
    checked: Source, options: Options, switches: Switches, preprocessing: Sequence[Op]
) -> tuple[dict[str, tuple[int, ...]], Optimised]:
    """The sample of an open shape, and the model under it. AtcError of the likeliest sample where none fits."""
    errors: list[AtcError] = []
    for shapes in samples(options.shapes, options.ranges, checked.proto.graph):
        try:
            return shapes, _planned(checked, options, shapes, switches, preprocessing)
        except AtcError as error:
            errors.append(error)
    raise errors[0]


ALL_OFF = Switches({GRAPH: {EVERY: False}, UB: {EVERY: False}})


def unfused(
    checked: Source, options: Options, shapes: Sequence[Shapes], rounding: Precision, preprocessing: Sequence[Op]
) -> dict[str, Any]:
    """{"before": [kernels, bytes, ns]} of the model with every fusion off, of its largest shape; empty without --report. shapes:
    those it is planned for, none where its own are fixed."""
    if not options.report:
        return {}
    every = shapes or [options.shapes]
    plan = largest([_plan(_planned(checked, options, s, ALL_OFF, preprocessing), options, rounding) for s in every])
    found = totals(plan.kernels, options.soc)
    return {"before": [found.kernels, found.bytes, found.duration]}


def _plan(made: Optimised, options: Options, rounding: Precision) -> Plan:
    inputs, outputs = ([v.name for v in group] for group in (made.proto.graph.input, made.proto.graph.output))
    single = options.single_stream or options.open
    bank = found_for(options.bank, options.soc)
    reuse, own = options.reuse_memory, options.own_schedules
    target = Target(find(options.soc), rounding, options.input_format, reuse, single, made.notask, bank, own, made.attributes)
    try:
        return make_plan(made.units, made.types, inputs, outputs, target)
    except Misfit as error:
        raise AtcError("E19999", reason="InferShapeAndType failed.", more=(str(error),)) from error


def largest(plans: Sequence[Plan]) -> Plan:
    """The plan of the gear that moves most; gears share memory, so it needs as much as the one that needs most of each part."""
    top = max(plans, key=lambda p: sum(k.work.read_bytes + k.work.write_bytes for k in p.kernels))
    return replace(top, memory={part: max(p.memory[part] for p in plans) for part in top.memory})


def labelled(kernels: Sequence[om.Kernel], gear: int) -> tuple[om.Kernel, ...]:
    """The kernels of a gear, named as profiles show them."""
    return tuple(replace(k, name=f"{k.name}_ascend_mbatch_batch_{gear}") for k in kernels)


def _tensors(values: Any, made: Optimised, options: Options) -> tuple[om.Tensor, ...]:
    return tuple(_tensor(made.types[v.name], options.input_format) for v in values)


def unknown_passes(switches: Switches) -> list[str]:
    """One line for each pass the switch file names and the simulated ATC does not have."""
    ours = {*notask.NAMES, const_to_attr.NAME, *(p.name for p in registry.PASSES)}
    return [f"the fusion switch file names {n}, which the simulated ATC does not have" for n in switches.names() if n not in ours]


def build_record(options: Options, cann: str, made: Optimised, plan: Plan, switches: Switches) -> dict[str, Any]:
    """What the model file says about its making. weight_bytes: the weights as they lie in the file."""
    fused = {u.name: list(u.members.passes) for u in made.units if u.label}
    return {
        "cann": cann,
        "command": options.command,
        "soc_version": options.soc,
        "precision_mode": options.precision,
        "gears": options.gear_option,
        "framework": 5,
        "fusion": {name: o.effected for passes in made.counts.values() for name, o in passes.items() if o.effected} | plan.free,
        "weight_bytes": sum(t.bytes for t in made.types.values() if t.constant),
        "near_misses": [[m.fusion, m.node, m.reason] for m in made.misses],
        "passes_off": registry.left_out(made.counts, switches),
        "fused_by": fused,
        "formats": plan.formats,
    }


def check_borders(graph: Any, types: dict[str, Operand]) -> None:
    """AtcError E10055 for an input or output that no model file can have."""
    for value in (*graph.input, *graph.output):
        if types[value.name].dtype not in DTYPES:
            raise AtcError("E10055", reason=f"{value.name} is no tensor of a type that a model input or output can have")


def _tensor(value: Operand, input_format: str) -> om.Tensor:
    known = PLANES if input_format != "ND" else {}
    return om.Tensor(value.name, value.dtype, value.dims if value.ranked else (-1,), known.get(len(value.dims), "ND"))
