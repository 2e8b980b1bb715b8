"""TbeConv2DReluv2Pass: a convolution and the Relu behind it become one kernel."""

from __future__ import annotations

from npu.graph.passes.base import Outcome, Work
from npu.graph.passes.conv_activation import CONVOLUTIONS
from npu.graph.passes.fusing import behind
from npu.graph.passes.matcher import Op, Var

NAME = "TbeConv2DReluv2Pass"
FORMS = (("Relu", Op(("Relu",), (Var("x"),))),)


def run(work: Work) -> Outcome:
    return behind(work, NAME, FORMS, CONVOLUTIONS)
