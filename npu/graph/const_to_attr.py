"""ConstToAttrPass: an operator whose axes are constant takes them as an attribute, in its form with a D behind the name; the
tensor of axes travels no more. Where they are computed, or the pass is off, the kernel is the plain form and reads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from npu.graph.lowering import Lowering
from npu.graph.passes.base import GRAPH
from npu.graph.switches import Switches
from npu.ops.reduce import REDUCE
from npu.patterns import named

NAME = named("ConstToAttrPass").name
AXES = 1  # position of the input
# D form -> plain form: the reductions that have both
PLAIN = {name: name.removesuffix("D") for name in REDUCE.values() if name.startswith("Reduce") and name.endswith("D")}


def switched_on(switches: Switches) -> bool:
    return switches.on(NAME, GRAPH)


def applied(lowered: Sequence[Lowering | None], on: bool) -> tuple[list[Lowering | None], int]:
    """The kernels in their forms, and how many became D forms by it."""
    made: list[Lowering | None] = []
    count = 0
    for each in lowered:
        axes = each.node.inputs[AXES] if each is not None and len(each.node.inputs) > AXES else None
        if each is None or axes is None or each.lowered.op_type not in PLAIN:
            made.append(each)
            continue
        if not (on and axes.constant):
            made.append(replace(each, lowered=replace(each.lowered, op_type=PLAIN[each.lowered.op_type])))
            continue
        count += 1
        work = replace(each.lowered.work, read_bytes=each.lowered.work.read_bytes - axes.bytes)
        reads = tuple(r for r in each.reads if r is not axes)
        made.append(replace(each, lowered=replace(each.lowered, work=work), reads=reads))
    return made, count
