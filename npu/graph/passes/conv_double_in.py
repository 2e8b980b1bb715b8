"""TbeConvDoubleInFusionPass: a convolution and the operator of two inputs behind it, a residual connection, become one kernel.

The kernel reads the other operand where it would have written its result; an activation behind it may still follow.
"""

from __future__ import annotations

from typing import Any

from npu.graph.passes.base import Outcome, Work
from npu.graph.passes.fusing import shape
from npu.graph.passes.matcher import escapes
from npu.patterns import named

NAME = named("TbeConvDoubleInFusionPass").name
TWO_INPUTS = {"Add", "Sum", "Mul", "Sub", "Max", "Min"}


def run(work: Work) -> Outcome:
    outcome = Outcome()
    for node in work.graph:
        if node.op_type not in TWO_INPUTS or node.domain or len(node.inputs) != 2 or not work.free([node]):
            continue
        for value, other in (node.inputs, node.inputs[::-1]):
            conv = value.producer() if value is not None else None
            if conv is None or other is None or other is value or conv.op_type != "Conv" or conv.domain or not work.free([conv]):
                continue
            if other.const_value is not None:  # a bias or a factor, which other passes fold
                continue
            outcome.matched += 1
            reason = refusal(conv, value, other, node)
            if reason:
                outcome.refuse(NAME, conv, reason)
                continue
            work.group([conv, node], f"Conv{node.op_type}", NAME, root=node)
            outcome.effected += 1
            break
    return outcome


def refusal(conv: Any, value: Any, other: Any, node: Any) -> str:
    if shape(value) is None or shape(value) != shape(other):
        return f"the operands of {node.name} differ in shape ({shape(value)} and {shape(other)})"
    return escapes([conv, node], node)
