"""InplaceAddRmsNormFusionPass: an AddRmsNorm whose operands nobody else reads writes its two results over them."""

from __future__ import annotations

from typing import Any

from npu.graph.passes.base import Group, Outcome, Work
from npu.patterns import named

NAME = named("InplaceAddRmsNormFusionPass").name
PLAIN, KERNEL = "AddRmsNorm", "InplaceAddRmsNorm"


def run(work: Work) -> Outcome:
    outcome = Outcome()
    for group in work.groups:
        if group.kernel != PLAIN:
            continue
        add = group.nodes[0]
        outcome.matched += 1
        reason = refusal(add, group)
        if reason:
            outcome.refuse(NAME, group.root, reason)
            continue
        work.group(group.nodes, KERNEL, NAME, head=group.head, root=group.root, kernel=KERNEL)
        outcome.effected += 1
    return outcome


def refusal(add: Any, group: Group) -> str:
    for value in add.inputs:
        if value.producer() is None:
            return f"{value.name} is memory of the caller's"
        if value.is_graph_output():
            return f"{value.name} is an output of the model"
        if len(value.uses()) > 1:
            return f"{value.name} is also used by {next(u.node.name for u in value.uses() if u.node is not add)}"
    inside = {id(n) for n in group.nodes}
    if not any(id(u.node) not in inside for u in add.outputs[0].uses()):
        return f"the sum {add.outputs[0].name} is not read: there is one result only"
    return ""
