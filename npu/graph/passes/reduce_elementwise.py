"""TbeReduceElemwiseFusionPass: elementwise operators of one operand behind a reduction run in its kernel, five at most."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from npu.graph.passes.base import Outcome, Work
from npu.graph.passes.fusing import shape
from npu.graph.passes.matcher import escapes, is_constant
from npu.graph.passes.vector_chain import ELEMENTWISE, FLOATS
from npu.patterns import named

NAME = named("TbeReduceElemwiseFusionPass").name
MOST = 5
REDUCTIONS = {"ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceSumSquare"}


def run(work: Work) -> Outcome:
    """Where the shapes are fixed."""
    return behind_reductions(work, NAME, lambda node, value: (s := shape(value)) is not None and s == shape(node.outputs[0]))


def behind_reductions(work: Work, name: str, alike: Callable[[Any, Any], bool]) -> Outcome:
    """Take operators into the kernels of the reductions they follow. alike: whether the result of an operator has the shape of
    its one operand."""
    outcome = Outcome()
    for node in work.graph:
        value = operand(node)
        maker = value.producer() if value is not None else None
        if maker is None or not work.free([node]):
            continue
        known = work.held.get(id(maker))
        head = known.head if known is not None else maker
        if head.op_type not in REDUCTIONS or head.domain:
            continue
        if known is not None and (name not in known.passes or known.root is not maker):
            continue
        kind = node.outputs[0].dtype
        if kind is None or kind.name not in FLOATS or not alike(node, value):
            continue
        outcome.matched += 1
        members = [*work.members(maker), node]
        reason = escapes(members, node)
        if not reason and len(members) > MOST + 1:
            reason = f"{MOST} operators run behind {head.name} already"
        if reason:
            outcome.refuse(name, head, reason)
            continue
        work.group([maker, node], f"{head.op_type}Elemwise", name, head=head, root=node, rounds=True)
        outcome.effected += 1
    return outcome


def operand(node: Any) -> Any:
    """The one operand of an elementwise operator; numbers beside it are part of the code. None for any other node."""
    if node.op_type not in ELEMENTWISE or node.domain:
        return None
    given = [v for v in node.inputs if v is not None and not (is_constant(v) and v.const_value.size == 1)]
    return given[0] if len(given) == 1 else None
