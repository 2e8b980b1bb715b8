"""The task list of a compiled graph at the shapes of a run: translated, fused, planned, the framework's own kernels in place."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, NamedTuple

from torch import fx

from npu.graph.online import Online, planned
from npu.graph.passes.base import GRAPH
from npu.graph.passes.registry import left_out
from npu.graph.switches import Switches
from npu.om import Kernel
from npu.ops.node import Misfit
from npu.soc import Soc
from npu.torch_npu.graph.translate import translate
from npu.torch_npu.graph.values import Watch

# A product with a bias is one kernel of the framework already; the pass would part them, as the bias is no constant here.
RESTS = {"GemmToMatmulFusionPass": False}


class Tasks(NamedTuple):
    """events: pairs of kernels that order streams; memory: bytes by part; build: what a model file says of its making."""

    kernels: tuple[Kernel, ...]
    events: tuple[tuple[int, int], ...]
    memory: dict[str, int]
    build: dict[str, Any]


class Wanted(NamedTuple):
    """How a graph is to be planned. fuse: False keeps the framework's kernels."""

    switches: Switches = Switches()
    fuse: bool = True
    open_shapes: bool = False
    single_stream: bool = False


def tasks(graph: fx.Graph, watch: Watch, chip: Soc, wanted: Wanted) -> Tasks:
    """Plan a graph for the sizes of one run."""
    made = translate(graph, watch, wanted.fuse)
    switches = Switches({k: {**wanted.switches.given.get(k, {}), **(RESTS if k == GRAPH else {})} for k in (GRAPH, "ub_fusion")})
    try:
        found = planned(made.proto, chip, switches, wanted.open_shapes, wanted.single_stream)
    except Misfit as error:
        if not wanted.fuse:
            raise RuntimeError(f"the graph engine cannot plan this graph: {error}") from error
        warnings.warn(f"a compiled graph keeps the framework's kernels, the graph engine cannot take it: {error}", stacklevel=4)
        return tasks(graph, watch, chip, wanted._replace(fuse=False))
    kernels: list[Kernel] = []
    first: list[int] = []  # of each planned kernel, where it begins
    last: list[int] = []
    for kernel in found.plan.kernels:
        first.append(len(kernels))
        own = made.own.get(kernel.name)
        kernels += [kernel] if own is None else [replace(k, stream=kernel.stream) for k in own]
        last.append(len(kernels) - 1)
    events = tuple((last[a], first[b]) for a, b in found.plan.events)
    return Tasks(tuple(kernels), events, dict(found.plan.memory), _build(found, made.alone, switches, chip))


def _build(found: Online, alone: dict[str, int], switches: Switches, chip: Soc) -> dict[str, Any]:
    """As npu.graph.compile writes it into a model file, with the operators that have no counterpart."""
    fusion = {name: o.effected for passes in found.counts.values() for name, o in passes.items() if o.effected}
    return {
        "command": "torch.compile",
        "soc_version": chip.name,
        "precision_mode": "must_keep_origin_dtype",
        "fusion": fusion | found.plan.free,
        "near_misses": [[m.fusion, m.node, m.reason] for m in found.misses],
        "passes_off": left_out(found.counts, switches),
        "fused_by": found.fused_by,
        "formats": found.plan.formats,
        "unconverted": alone,
    }
