"""TbeEltwiseFusionPass: elementwise operators that follow each other on tensors of one shape become one vector kernel.

Their results inside are rounded to the working precision as before: they only no longer travel to memory and back.
"""

from __future__ import annotations

from typing import Any

from npu.graph.passes.base import Outcome, Work
from npu.graph.passes.fusing import ACTIVATIONS, shape
from npu.graph.passes.matcher import escapes
from npu.patterns import named

NAME = named("TbeEltwiseFusionPass").name
MOST = 8  # nodes of one kernel: more results than that do not fit the unified buffer side by side
ELEMENTWISE = {
    "Add", "Sub", "Mul", "Div", "Max", "Min", "Abs", "Neg", "Reciprocal", "Sqrt", "Exp", "Log", "Ceil", "Floor", "Round", "Sign", "Erf",
    "Clip", "Relu", "LeakyRelu", "Sigmoid", "Tanh", "Elu", "Selu", "HardSigmoid", "HardSwish", "Softplus", "Softsign", "Gelu", "Mish",
    "Pow", "Sum",
}
FLOATS = {"FLOAT", "FLOAT16", "BFLOAT16"}


def run(work: Work) -> Outcome:
    """Grow chains in the order of the graph: each operator joins the kernel of an operand that nothing else reads."""
    outcome = Outcome()
    for node in work.graph:
        if not _vector(work, node):
            continue
        dims = shape(node.outputs[0])
        if dims is None or node.outputs[0].dtype is None or node.outputs[0].dtype.name not in FLOATS:
            continue
        for value in dict.fromkeys(i for i in node.inputs if i is not None):
            maker = value.producer()
            if maker is None or not _vector(work, maker) or shape(value) != dims or maker in work.members(node):
                continue
            known = work.held.get(id(maker))
            if known is not None and known.root is not maker:
                continue
            outcome.matched += 1
            members = (*work.members(maker), *work.members(node))
            reason = escapes(list(members), work.held[id(node)].root if id(node) in work.held else node)
            if reason:
                outcome.refuse(NAME, maker, reason)
            elif len(members) > MOST:
                outcome.refuse(NAME, maker, f"the kernel would do {len(members)} operators, {MOST} fit")
            else:
                root = work.held[id(node)].root if id(node) in work.held else node
                head = work.held[id(maker)].head if id(maker) in work.held else maker
                first = known.nodes[0] if known is not None and known.kernel else head
                work.group([maker, node], "Eltwise", NAME, head=first, root=root, rounds=True)
                outcome.effected += 1
    return outcome


def _vector(work: Work, node: Any) -> bool:
    known = work.held.get(id(node))
    if known is not None:
        return known.rounds or known.kernel in ACTIVATIONS
    return node.op_type in ELEMENTWISE and not node.domain
