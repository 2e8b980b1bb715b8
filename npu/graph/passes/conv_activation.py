"""TbeConv2DEltwisePass: a convolution and the activation behind it become one kernel.

Activations are often written out, and then read the convolution's output twice (hard-swish: x * clip(x + 3, 0, 6) / 6), so
they are matched as a whole with the convolution's output as the repeated value x.
"""

from __future__ import annotations

from npu.graph.passes.base import Outcome, Work
from npu.graph.passes.fusing import behind
from npu.graph.passes.matcher import Const, Op, Var

NAME = "TbeConv2DEltwisePass"
X = Var("x")
CLIP6 = Op(("Clip",), (Op(("Add",), (X, Const(3.0)), commutes=True), Const(0.0), Const(6.0)))
HARD_SIGMOID = Op(("HardSigmoid",), (X,))
SIXTH = Const(1 / 6)


def _times(left: Op | Var, right: Op | Var | Const) -> Op:
    return Op(("Mul",), (left, right), commutes=True)


def _by_six(inner: Op) -> tuple[Op, Op]:
    return Op(("Div",), (inner, Const(6.0))), _times(inner, SIXTH)


# name of the kernel function -> what it looks like. The bigger form comes first: the first that matches is taken.
WRITTEN_OUT: tuple[tuple[str, Op], ...] = (
    *(("HardSwish", form) for form in _by_six(_times(X, CLIP6))),
    *(("HardSwish", _times(X, form)) for form in _by_six(CLIP6)),
    ("HardSwish", _times(X, HARD_SIGMOID)),
    *(("HardSigmoid", form) for form in _by_six(CLIP6)),
    ("Swish", _times(X, Op(("Sigmoid",), (X,)))),
    ("Mish", _times(X, Op(("Tanh",), (Op(("Softplus",), (X,)),)))),
)
FORMS: tuple[tuple[str, Op], ...] = (
    *WRITTEN_OUT,
    *(
        (kind, Op((kind,), (X,)))
        for kind in ("Clip", "LeakyRelu", "PRelu", "Sigmoid", "HardSigmoid", "HardSwish", "Tanh", "Elu", "Gelu", "Mish", "Swish")
    ),
)
CONVOLUTIONS = {"Conv"}


def run(work: Work) -> Outcome:
    return behind(work, NAME, FORMS, CONVOLUTIONS)
