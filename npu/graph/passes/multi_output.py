"""TbeMultiOutputFusionPass: an elementwise operator joins the kernel of its operand although that is read elsewhere too; the
kernel then writes both. What it saves is reading the operand again.

The other readers must not lead back into the kernel: it would wait for itself.
"""

from __future__ import annotations

from typing import Any

from npu.graph.passes.base import Outcome, Work
from npu.graph.passes.fusing import shape
from npu.graph.passes.vector_chain import FLOATS, LABEL, MOST, elementwise
from npu.patterns import named

NAME = named("TbeMultiOutputFusionPass").name
RESULTS = 2  # of one kernel
STEPS = 2000  # operators looked at for a way back, then there may be one


def run(work: Work) -> Outcome:
    outcome = Outcome()
    for node in work.graph:
        dims = shape(node.outputs[0]) if elementwise(work, node) else None
        if dims is None or node.outputs[0].dtype is None or node.outputs[0].dtype.name not in FLOATS:
            continue
        for value in dict.fromkeys(i for i in node.inputs if i is not None):
            maker = value.producer()
            if maker is None or not elementwise(work, maker) or shape(value) != dims or len(value.uses()) < RESULTS:
                continue
            if maker in work.members(node):
                continue
            outcome.matched += 1
            members = [*work.members(maker), *work.members(node)]
            reason = refusal(work, members)
            if reason:
                outcome.refuse(NAME, maker, reason)
                continue
            known = work.held.get(id(maker))
            work.group(members, LABEL, NAME, head=known.head if known is not None else maker, root=node, rounds=True)
            outcome.effected += 1
    return outcome


def refusal(work: Work, members: list[Any]) -> str:
    inside = {id(n) for n in members}
    results = [o for n in members for o in n.outputs if o.is_graph_output() or any(id(u.node) not in inside for u in o.uses())]
    if len(members) > MOST:
        return f"the kernel would do {len(members)} operators, {MOST} fit"
    if len(results) > RESULTS:
        return f"the kernel would have {len(results)} results, {RESULTS} fit"
    return "another reader leads back into the kernel" if _leads_back(work, members, inside) else ""


def _leads_back(work: Work, members: list[Any], inside: set[int]) -> bool:
    """Whether a way from a result leaves the kernel and comes back into it; a kernel on the way is passed as a whole."""
    waiting = [u.node for n in members for o in n.outputs for u in o.uses() if id(u.node) not in inside]
    seen: set[int] = set()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if len(seen) > STEPS:
            return True
        for use in (u for n in work.members(node) for o in n.outputs for u in o.uses()):
            if id(use.node) in inside:
                return True
            waiting.append(use.node)
    return False
