"""AddLayernormV3FusionPass: on Ascend310P a division before the addition of an AddLayerNorm runs in its kernel, for the widths of
the networks it was written for."""

from __future__ import annotations

from typing import Any

from npu.graph.passes.base import Group, Outcome, Work
from npu.graph.passes.fusing import shape
from npu.graph.passes.matcher import escapes
from npu.patterns import named

NAME = named("AddLayernormV3FusionPass").name
KERNEL = "AddLayerNorm"
CHIPS = "Ascend310P"
WIDTHS = (320, 640, 768, 1024, 1280, 1536)  # of the last axis


def run(work: Work) -> Outcome:
    outcome = Outcome()
    if not work.chip.startswith(CHIPS):
        return outcome
    for group in work.groups:
        if group.kernel != KERNEL:
            continue
        add = group.nodes[0]
        divisions = [d for v in add.inputs if (d := v.producer()) is not None and d.op_type == "Div" and not d.domain]
        if not divisions or not work.free(divisions[:1]):
            continue
        outcome.matched += 1
        reason = refusal(divisions[0], add, group)
        if reason:
            outcome.refuse(NAME, group.root, reason)
            continue
        nodes = [divisions[0], *group.nodes]
        work.group(nodes, "DivAddLayerNorm", NAME, head=group.head, root=group.root, kernel=KERNEL)
        outcome.effected += 1
    return outcome


def refusal(division: Any, add: Any, group: Group) -> str:
    dims = shape(add.outputs[0])
    if dims is None or dims[-1] not in WIDTHS:
        return f"the last axis is {dims[-1] if dims else 'open'}, none of {', '.join(map(str, WIDTHS))}"
    if shape(division.outputs[0]) != dims or shape(division.inputs[0]) != dims:
        return f"{division.name} changes the shape"
    return escapes([division, add], add)
