"""LayerNormONNXFusionPass: a layer normalisation written out as ReduceMean, Sub, Pow, ReduceMean, Add, Sqrt, Div, Mul, Add.

Sums of squares overflow half precision when every step is a kernel of its own; inside one kernel they stay float32.
"""

from __future__ import annotations

from typing import Any

from npu.graph.passes.base import Outcome, Work
from npu.graph.passes.fusing import Form, over_last_axis, whole
from npu.graph.passes.matcher import Const, Match, Op, Var, constant
from npu.patterns import named

NAME = named("LayerNormONNXFusionPass").name
X = Var("x")
CENTRED = Op(("Sub",), (X, Op(("ReduceMean",), (X,))))
SQUARES = (Op(("Pow",), (CENTRED, Const(2.0))), Op(("Mul",), (CENTRED, CENTRED)))


def _scaled(square: Op) -> tuple[Op, ...]:
    """x / sqrt(variance + epsilon) in the ways exporters write it."""
    variance = Op(("Add",), (Op(("ReduceMean",), (square,)), Const(name="epsilon")), commutes=True)
    root = Op(("Sqrt",), (variance,))
    return (
        Op(("Div",), (CENTRED, root)),
        Op(("Div",), (CENTRED, Op(("Pow",), (variance, Const(0.5))))),
        Op(("Mul",), (CENTRED, Op(("Reciprocal",), (root,))), commutes=True),
        Op(("Mul",), (CENTRED, Op(("Pow",), (variance, Const(-0.5)))), commutes=True),
    )


NORMS = tuple(n for square in SQUARES for n in _scaled(square))


def last_axis(found: Match, root: Any) -> str:
    """The means must go over the last axis and keep it; scale and shift must be one-dimensional."""
    reason = over_last_axis(found, root)
    if reason:
        return reason
    for name in ("gamma", "beta"):
        value = found.values.get(name)
        array = constant(value)
        if value is not None and array is not None and array.size > 1 and array.shape[-1] != array.size:
            return f"{value.name} has {array.ndim} dimensions, one is wanted"
    return ""


def _affine(norm: Op) -> tuple[Op, ...]:
    scaled = Op(("Mul",), (norm, Const(name="gamma")), commutes=True)
    return Op(("Add",), (scaled, Const(name="beta")), commutes=True), scaled, norm


FORMS = tuple(Form("LayerNorm", _affine(norm)[depth], last_axis) for depth in range(3) for norm in NORMS)


def run(work: Work) -> Outcome:
    return whole(work, NAME, FORMS)
