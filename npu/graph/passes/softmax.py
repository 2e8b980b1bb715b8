"""SoftmaxFusionPass: exp(x - max x) / sum(exp(x - max x)) written out becomes one SoftmaxV2 along the last axis."""

from __future__ import annotations

from typing import Any

from npu.graph.passes.base import Outcome, Work
from npu.graph.passes.fusing import Form, whole
from npu.graph.passes.matcher import Match, Op, Var, constant
from npu.patterns import named

NAME = named("SoftmaxFusionPass").name
X = Var("x")


def _form(exponential: Op) -> Op:
    return Op(("Div",), (exponential, Op(("ReduceSum",), (exponential,))))


def last_axis(found: Match, root: Any) -> str:
    for node in found.nodes:
        if not node.op_type.startswith("Reduce"):
            continue
        axes = constant(node.inputs[1]) if len(node.inputs) > 1 else node.attributes.get_ints("axes", None)
        rank = len(node.inputs[0].shape) if node.inputs[0].shape is not None else 0
        if axes is None or [int(a) for a in axes] not in ([-1], [rank - 1]):
            return f"{node.name} goes over axes {'all' if axes is None else [int(a) for a in axes]}, not over the last one only"
        if not node.attributes.get_int("keepdims", 1):
            return f"{node.name} does not keep the axis"
    return ""


FORMS = (
    Form("SoftmaxV2", _form(Op(("Exp",), (Op(("Sub",), (X, Op(("ReduceMax",), (X,)))),))), last_axis),
    Form("SoftmaxV2", _form(Op(("Exp",), (X,))), last_axis),
)


def run(work: Work) -> Outcome:
    return whole(work, NAME, FORMS)
