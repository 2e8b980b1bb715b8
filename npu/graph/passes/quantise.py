"""Quantised models: a product between DequantizeLinear and QuantizeLinear is one int8 kernel, and a pair that undoes itself goes.

TbeConvDequantQuantFusionPass takes convolutions, TbeFullyconnectionElemwiseDequantFusionPass matrix products; the kernel computes
in int8 and requantises at its end. V200RequantFusionPass removes QuantizeLinear behind DequantizeLinear of the same scale.
"""

from __future__ import annotations

from typing import Any

from npu.graph.passes.base import Outcome, Work
from npu.graph.passes.matcher import constant, escapes, is_constant
from npu.graph.passes.rewriting import removable, remove_unread, take_out
from npu.patterns import named

CONV = named("TbeConvDequantQuantFusionPass").name
PRODUCT = named("TbeFullyconnectionElemwiseDequantFusionPass").name
REQUANT = named("V200RequantFusionPass").name
BETWEEN = {"Relu", "Clip"}


def run_conv(work: Work) -> Outcome:
    return _run(work, CONV, {"Conv"})


def run_product(work: Work) -> Outcome:
    return _run(work, PRODUCT, {"MatMul", "Gemm"})


def _run(work: Work, name: str, heads: set[str]) -> Outcome:
    outcome = Outcome()
    for quantise in work.graph:
        if quantise.op_type != "QuantizeLinear" or quantise.domain:
            continue
        tail, head = [quantise], quantise.inputs[0].producer()
        while head is not None and head.op_type in BETWEEN | {"Add"} and head.op_type not in heads and len(tail) < 4:
            tail.append(head)
            head = head.inputs[0].producer()
        if head is None or head.op_type not in heads or head.domain:
            continue
        before = [v.producer() for v in head.inputs if v is not None]
        stored = [n for n in before if n is not None and n.op_type == "DequantizeLinear" and not n.domain]
        if not stored:
            continue
        outcome.matched += 1
        reason = refusal(head, stored, [*stored, head, *tail], quantise)
        if reason:
            outcome.refuse(name, head, reason)
            continue
        members = [m for n in (head, *stored, *tail) for m in work.members(n)]
        work.group(list({id(m): m for m in members}.values()), f"Quant{head.op_type}", name, head=head, root=quantise)
        outcome.effected += 1
    return outcome


def refusal(head: Any, stored: list[Any], nodes: list[Any], root: Any) -> str:
    read = {id(n.outputs[0]) for n in stored}
    if not all(id(v) in read for v in head.inputs[:2]):
        return f"only one of the operands of {head.name} is quantised"
    for node in stored:
        if not is_constant(node.inputs[1]):
            return f"the scale of {node.name} is not constant"
    return escapes(nodes, root)


def run_requant(work: Work) -> Outcome:
    """Q(DQ(x)) with one scale and zero point is x."""
    outcome = Outcome()
    for quantise in list(work.graph):
        if quantise.op_type != "QuantizeLinear" or quantise.domain:
            continue
        stored = quantise.inputs[0].producer()
        if stored is None or stored.op_type != "DequantizeLinear" or stored.domain:
            continue
        outcome.matched += 1
        reason = _differs(stored, quantise) or removable(quantise, stored.inputs[0])
        if reason:
            outcome.refuse(REQUANT, quantise, reason)
            continue
        take_out(work.graph, quantise, stored.inputs[0])
        remove_unread(work.graph, stored)
        outcome.effected += 1
    return outcome


def _differs(stored: Any, quantise: Any) -> str:
    import numpy as np

    if stored.inputs[0].dtype != quantise.outputs[0].dtype:
        return "the types before and after differ"
    for at, what in ((1, "scales"), (2, "zero points")):
        pair = [constant(n.inputs[at]) if len(n.inputs) > at else np.zeros((), np.int8) for n in (stored, quantise)]
        if pair[0] is None or pair[1] is None or not np.array_equal(pair[0], pair[1]):
            return f"the {what} differ or are not constant"
    return ""
