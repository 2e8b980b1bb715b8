"""RmsNormFusionPass: x / sqrt(mean(x^2) + epsilon) * gamma written out becomes one RmsNorm."""

from __future__ import annotations

from npu.graph.passes.base import Outcome, Work
from npu.graph.passes.fusing import Form, whole
from npu.graph.passes.layer_norm import last_axis
from npu.graph.passes.matcher import Const, Op, Var
from npu.patterns import named

NAME = named("RmsNormFusionPass").name
X = Var("x")
GAMMA = Const(name="gamma")


def _norms() -> tuple[Op, ...]:
    made: list[Op] = []
    for square in (Op(("Pow",), (X, Const(2.0))), Op(("Mul",), (X, X))):
        mean = Op(("Add",), (Op(("ReduceMean",), (square,)), Const(name="epsilon")), commutes=True)
        root = Op(("Sqrt",), (mean,))
        inverse = (Op(("Reciprocal",), (root,)), Op(("Div",), (Const(1.0), root)), Op(("Pow",), (mean, Const(-0.5))))
        made += [Op(("Div",), (X, root)), *(Op(("Mul",), (X, i), commutes=True) for i in inverse)]
    return tuple(made)


NORMS = _norms()
FORMS = (
    *(Form("RmsNorm", Op(("Mul",), (n, GAMMA), commutes=True), last_axis) for n in NORMS),
    *(Form("RmsNorm", n, last_axis) for n in NORMS),
)


def run(work: Work) -> Outcome:
    return whole(work, NAME, FORMS)
