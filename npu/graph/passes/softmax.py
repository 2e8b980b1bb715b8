"""SoftmaxFusionPass: exp(x - max x) / sum(exp(x - max x)) written out becomes one SoftmaxV2 along the last axis."""

from __future__ import annotations

from npu.graph.passes.base import Outcome, Work
from npu.graph.passes.fusing import Form, over_last_axis, whole
from npu.graph.passes.matcher import Op, Var
from npu.patterns import named

NAME = named("SoftmaxFusionPass").name
X = Var("x")


def _form(exponential: Op) -> Op:
    return Op(("Div",), (exponential, Op(("ReduceSum",), (exponential,))))


FORMS = (
    Form("SoftmaxV2", _form(Op(("Exp",), (Op(("Sub",), (X, Op(("ReduceMax",), (X,)))),))), over_last_axis),
    Form("SoftmaxV2", _form(Op(("Exp",), (X,))), over_last_axis),
)


def run(work: Work) -> Outcome:
    return whole(work, NAME, FORMS)
