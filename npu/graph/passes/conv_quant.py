"""TbeConv2DAddMulQuantPass and TbeConvSigmoidMulQuantFusionPass: a convolution, an addend and a factor (or a swish) behind it and
the quantisation of the result are one kernel; on stored integers where the convolution's operands are dequantised ones.

TbeConvDequantVaddReluFusionPass: a convolution on stored integers whose result stays a float, added to another value, with Relu.
"""

from __future__ import annotations

from typing import Any

from npu.graph.passes.base import Outcome, Work
from npu.graph.passes.matcher import Const, Match, Op, Var, escapes, match
from npu.graph.passes.quantise import refusal
from npu.patterns import named

ADD_MUL = named("TbeConv2DAddMulQuantPass").name
SIGMOID_MUL = named("TbeConvSigmoidMulQuantFusionPass").name
VADD_RELU = named("TbeConvDequantVaddReluFusionPass").name
X = Var("x")


def _quantised(value: Op) -> Op:
    return Op(("QuantizeLinear",), (value,))


SUM = Op(("Add",), (X, Const(name="addend")), commutes=True)
FORMS = {
    ADD_MUL: ("AddMulQuant", _quantised(Op(("Mul",), (SUM, Const(name="factor")), commutes=True))),
    SIGMOID_MUL: ("SwishQuant", _quantised(Op(("Mul",), (X, Op(("Sigmoid",), (X,))), commutes=True))),
    VADD_RELU: ("AddRelu", Op(("Relu",), (Op(("Add",), (X, Var("other")), commutes=True),))),
}


def run_add_mul(work: Work) -> Outcome:
    return _run(work, ADD_MUL)


def run_sigmoid_mul(work: Work) -> Outcome:
    return _run(work, SIGMOID_MUL)


def run_vadd_relu(work: Work) -> Outcome:
    return _run(work, VADD_RELU, stored_only=True)


def _run(work: Work, name: str, stored_only: bool = False) -> Outcome:
    """stored_only: for convolutions on stored integers alone."""
    outcome = Outcome()
    label, form = FORMS[name]
    for root in list(work.graph):
        found = match(form, root)
        head = _head(found) if found is not None else None
        if found is None or head is None or not work.free([head, *found.nodes]):
            continue
        before = [v.producer() for v in head.inputs if v is not None]
        stored = [n for n in before if n is not None and n.op_type == "DequantizeLinear" and not n.domain]
        if stored_only and not stored:
            continue
        outcome.matched += 1
        nodes = [*stored, head, *reversed(found.nodes)]
        reason = refusal(head, stored, nodes, root) if stored else escapes(nodes, root)
        if reason:
            outcome.refuse(name, head, reason)
            continue
        work.group(nodes, f"{'Quant' if stored else ''}Conv{label}", name, head=head, root=root)
        outcome.effected += 1
    return outcome


def _head(found: Match) -> Any:
    """The convolution whose result x, or the value added to it, is."""
    makers = (found.values[n].producer() for n in ("x", "other") if n in found.values)
    return next((m for m in makers if m is not None and m.op_type == "Conv" and not m.domain), None)
