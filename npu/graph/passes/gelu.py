"""GeluFusionPass: GELU written out with Erf, or with Tanh as its approximation, becomes one vector kernel."""

from __future__ import annotations

from itertools import product
from math import sqrt

from npu.graph.passes.base import Outcome, Work
from npu.graph.passes.fusing import Form, whole
from npu.graph.passes.matcher import Const, Op, Var
from npu.patterns import named

NAME = named("GeluFusionPass").name
X = Var("x")
HALF = Const(0.5)


def _times(left: Op | Var | Const, right: Op | Var | Const) -> Op:
    return Op(("Mul",), (left, right), commutes=True)


def _plus(left: Op | Var | Const, right: Op | Var | Const) -> Op:
    return Op(("Add",), (left, right), commutes=True)


def _gates() -> tuple[Op, ...]:
    """1 + erf(x / sqrt 2) and 1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))."""
    inner = (Op(("Div",), (X, Const(sqrt(2)))), _times(X, Const(1 / sqrt(2))))
    erf = [Op(("Erf",), (i,)) for i in inner]
    cubes = (Op(("Pow",), (X, Const(3.0))), _times(X, _times(X, X)))
    factor = 0.7978845608028654
    sums = [_plus(X, _times(c, Const(0.044715))) for c in cubes]
    sums += [
        _plus(X, _times(X, _times(_times(X, X), Const(0.044715)))),
        _plus(X, _times(X, _times(X, _times(X, Const(0.044715))))),
    ]
    tanh = [Op(("Tanh",), (_times(s, Const(factor)),)) for s in sums]
    # x * sqrt(2/pi) * (1 + 0.044715 x^2)
    tanh += [Op(("Tanh",), (_times(_times(X, Const(factor)), _plus(_times(_times(X, X), Const(0.044715)), Const(1.0))),))]
    return tuple(_plus(g, Const(1.0)) for g in (*erf, *tanh))


FORMS = tuple(
    Form("Gelu", form)
    for gate, form_of in product(
        _gates(),
        (lambda g: _times(_times(X, g), HALF), lambda g: _times(_times(X, HALF), g), lambda g: _times(X, _times(g, HALF))),
    )
    for form in (form_of(gate),)
)


def run(work: Work) -> Outcome:
    return whole(work, NAME, FORMS)
