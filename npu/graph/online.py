"""A graph whose values all have shapes, as a framework hands it over: fused and planned, without a file between.

Weights are inputs here, so nothing is folded; what an online compiler of a framework gives besides ONNX's own operators is one
operator of the domain OWN per kernel, which keeps its place and the values it reads and makes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from npu.cost.work import Work
from npu.graph import notask
from npu.graph.bank import found_for
from npu.graph.compile import fuse
from npu.graph.kernels import units
from npu.graph.passes import dead_nodes
from npu.graph.passes.base import NearMiss, Outcome
from npu.graph.plan import Plan, Target, make_plan
from npu.graph.precision_modes import precision
from npu.graph.switches import Switches
from npu.graph.types import operands
from npu.ops import registry
from npu.ops.node import Lowered, Node
from npu.soc import Soc

OWN, KERNEL = "ai.npu.framework", "Kernel"  # domain and operator of what the framework has kernels of its own for


@dataclass(frozen=True)
class Online:
    """A planned graph. counts: kind -> pass -> how often it matched and took effect."""

    plan: Plan
    counts: dict[str, dict[str, Outcome]]
    misses: list[NearMiss]
    fused_by: dict[str, list[str]]


def own(node: Node) -> Lowered:
    """A place in the plan: what the kernel really costs, the framework knows. No format of the engine's own reaches it."""
    moved = sum(o.elements for o in node.outputs)
    reads, writes = (sum(o.bytes for o in some) for some in (node.given, node.outputs))
    return Lowered(KERNEL, Work("layout", KERNEL, "float32", (moved, 1), reads, writes))


def planned(proto: Any, chip: Soc, switches: Switches, open_shapes: bool = False, single_stream: bool = True) -> Online:
    """Fuse and plan a ModelProto whose value_info holds every value. open_shapes: the shapes are those of one run of many."""
    registry.offer(OWN, {KERNEL: own})
    dead_nodes.run(proto)
    made = fuse(proto, {}, switches, open_shapes, chip.name)
    dead_nodes.run(made.proto)
    graph = made.proto.graph
    types = operands(graph)
    steps = units(graph, made.groups)
    target = Target(
        chip,
        precision("must_keep_origin_dtype", chip),
        single_stream=single_stream or open_shapes,
        notask=notask.switched_on(switches, not open_shapes),
        bank=found_for(None, chip.name),
    )
    inputs, outputs = ([v.name for v in group] for group in (graph.input, graph.output))
    fused_by = {u.name: list(u.members.passes) for u in steps if u.label}
    return Online(make_plan(steps, types, inputs, outputs, target), made.counts, made.misses, fused_by)
