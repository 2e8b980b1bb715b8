"""TbeDynamicElemwiseBroadcastFusionPass and TbeDynamicElemwiseReduceFusionPass: what vector chains and reductions take along
where shapes are open. An operator of one operand (and numbers) leaves the shape as it is; more is not known.
"""

from __future__ import annotations

from typing import Any

from npu.graph.passes.base import Outcome, Work
from npu.graph.passes.reduce_elementwise import behind_reductions, operand
from npu.graph.passes.vector_chain import FLOATS, LABEL, chain, elementwise
from npu.patterns import named

CHAIN = named("TbeDynamicElemwiseBroadcastFusionPass").name
REDUCE = named("TbeDynamicElemwiseReduceFusionPass").name


def run_chain(work: Work) -> Outcome:
    """The first operator of a kernel may have several operands, of any shapes that go together."""
    outcome = Outcome()
    for node in work.graph:
        value = operand(node)
        maker = value.producer() if value is not None else None
        if maker is None or not elementwise(work, node) or not elementwise(work, maker) or not keeps_shape(node, value):
            continue
        kind, known = node.outputs[0].dtype, work.held.get(id(maker))
        if kind is None or kind.name not in FLOATS or (known is not None and known.root is not maker):
            continue
        chain(work, outcome, CHAIN, LABEL, maker, node)
    return outcome


def run_reduce(work: Work) -> Outcome:
    return behind_reductions(work, REDUCE, keeps_shape)


def keeps_shape(node: Any, value: Any) -> bool:
    """Whether an operator gives its operand's shape: the numbers beside it have no more dims."""
    if value.shape is None:
        return False
    rank = len(value.shape)
    return all(v is None or v is value or len(v.const_value.shape) <= rank for v in node.inputs)
