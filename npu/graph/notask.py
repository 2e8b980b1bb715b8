"""Concatenations without a kernel: what makes the parts writes them where the whole lies (attribute _no_task in the real tool).

ConcatNotaskPass: every dim before the axis is 1, so that the parts lie one behind the other. ConvConcatFusionPass: convolutions
whose channels fill their blocks write into the joint blocks, whatever the batch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from math import prod

from npu.graph.format import HEAVY, Formats
from npu.graph.kernels import Unit
from npu.graph.lowering import Lowering
from npu.graph.passes.base import GRAPH
from npu.graph.switches import Switches
from npu.ops.node import Operand
from npu.ops.storage import nc1hwc0
from npu.patterns import named

BEHIND, BLOCKS = named("ConcatNotaskPass").name, named("ConvConcatFusionPass").name
NAMES = (BEHIND, BLOCKS)
UNIT = 32  # bytes of which every part must be a multiple


def switched_on(switches: Switches, fixed: bool) -> tuple[str, ...]:
    """The passes that may act. fixed: the shapes are known at conversion; places in memory need that."""
    return tuple(n for n in NAMES if fixed and switches.on(n, GRAPH))


def found(
    units: Sequence[Unit], lowered: Sequence[Lowering | None], formats: Formats, borders: Collection[str], on: Collection[str]
) -> dict[int, str]:
    """Units that need no kernel, and the pass that says so. borders: inputs and outputs of the model, memory of the caller's."""
    if not on:
        return {}
    maker = {o: at for at, unit in enumerate(units) for o in unit.outputs}
    readers = Counter(i for unit in units for i in unit.inputs)
    converted = {(at, name) for at, name, _ in formats.conversions}
    free: dict[int, str] = {}
    for at, (unit, made) in enumerate(zip(units, lowered, strict=True)):
        if made is None or made.lowered.op_type != "ConcatD" or len(unit.inputs) < 2 or unit.outputs[0] in borders:
            continue
        parts = made.reads
        if len(parts) != len(made.node.inputs) or len({p.dtype for p in parts}) > 1:
            continue
        alone = all(
            readers[p.name] == 1 and p.name in maker and p.name not in borders and (at, p.name) not in converted for p in parts
        )
        makers = [lowered[maker[p.name]] for p in parts if p.name in maker]
        if not alone or any(m is None for m in makers) or any(maker[p.name] in free for p in parts):
            continue
        name = _rule(made, parts, makers, formats.wants.get(at, set()))
        if name in on:
            free[at] = name
    return free


def _rule(made: Lowering, parts: Sequence[Operand], makers: Sequence[Lowering | None], blocks: Collection[str]) -> str:
    """The pass that covers a concatenation, "" for none."""
    rank = len(parts[0].dims)
    axis = made.node.number("axis", 0) % rank if rank else 0
    stored = [nc1hwc0(p.dims, p.dtype) if p.name in blocks else p.dims for p in parts]
    if any(min(d, default=0) < 1 or prod(d) * p.element_bytes % UNIT for d, p in zip(stored, parts, strict=True)):
        return ""
    if prod(parts[0].dims[:axis]) == 1:
        return BEHIND
    convolved = all(m is not None and m.lowered.work.form in HEAVY for m in makers)
    return BLOCKS if axis == 1 and convolved and all(p.name in blocks for p in parts) else ""


def places(units: Sequence[Unit], free: Mapping[int, str]) -> dict[str, tuple[str, ...]]:
    """Whole -> its parts, for the concatenations without a kernel."""
    return {units[at].outputs[0]: units[at].inputs for at in free}
