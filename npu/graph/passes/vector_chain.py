"""TbeEltwiseFusionPass: elementwise operators that follow each other on tensors of one shape become one vector kernel.

Their results inside are rounded to the working precision as before: they only no longer travel to memory and back.
"""

from __future__ import annotations

from typing import Any

from npu.graph.passes.base import Outcome, Work
from npu.graph.passes.fusing import shape
from npu.graph.passes.matcher import escapes
from npu.patterns import named

NAME = named("TbeEltwiseFusionPass").name
LABEL = "Eltwise"
MOST = 8  # nodes of one kernel: more results than that do not fit the unified buffer side by side
ELEMENTWISE = {
    "Add",
    "Sub",
    "Mul",
    "Div",
    "Max",
    "Min",
    "Abs",
    "Neg",
    "Reciprocal",
    "Sqrt",
    "Exp",
    "Log",
    "Ceil",
    "Floor",
    "Round",
    "Sign",
    "Erf",
    "Clip",
    "Relu",
    "LeakyRelu",
    "Sigmoid",
    "Tanh",
    "Elu",
    "Selu",
    "HardSigmoid",
    "HardSwish",
    "Softplus",
    "Softsign",
    "Gelu",
    "Mish",
    "Pow",
    "Sum",
}
FLOATS = {"FLOAT", "FLOAT16", "BFLOAT16"}


def run(work: Work) -> Outcome:
    """Grow chains in the order of the graph: each operator joins the kernel of an operand that nothing else reads."""
    outcome = Outcome()
    for node in work.graph:
        if not elementwise(work, node):
            continue
        dims = shape(node.outputs[0])
        if dims is None or node.outputs[0].dtype is None or node.outputs[0].dtype.name not in FLOATS:
            continue
        for value in dict.fromkeys(i for i in node.inputs if i is not None):
            maker = value.producer()
            if maker is None or not elementwise(work, maker) or shape(value) != dims or maker in work.members(node):
                continue
            known = work.held.get(id(maker))
            if known is None or known.root is maker:
                chain(work, outcome, NAME, LABEL, maker, node)
    return outcome


def chain(work: Work, outcome: Outcome, name: str, label: str, maker: Any, node: Any) -> None:
    """One kernel of what makes a value and the operator behind it, each with the members it has already; or a near miss."""
    known = work.held.get(id(maker))
    outcome.matched += 1
    members = [*work.members(maker), *work.members(node)]
    reason = escapes(members, node)
    if not reason and len(members) > MOST:
        reason = f"the kernel would do {len(members)} operators, {MOST} fit"
    if reason:
        outcome.refuse(name, maker, reason)
        return
    work.group([maker, node], label, name, head=known.head if known is not None else maker, root=node, rounds=True)
    outcome.effected += 1


def elementwise(work: Work, node: Any) -> bool:
    """Whether an operator can be part of a chain: it is no part of another kernel than one."""
    known = work.held.get(id(node))
    if known is not None:
        return known.label == LABEL
    return node.op_type in ELEMENTWISE and not node.domain
