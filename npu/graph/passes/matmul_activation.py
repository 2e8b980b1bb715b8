"""ATbeMatmulElemwiseFusionPass: a matrix product, with or without bias, takes the activation behind it along."""

from __future__ import annotations

from npu.graph.passes.base import Outcome, Work
from npu.graph.passes.conv_activation import FORMS as ACTIVATIONS
from npu.graph.passes.conv_relu import FORMS as RELU
from npu.graph.passes.fusing import behind
from npu.patterns import named

NAME = named("ATbeMatmulElemwiseFusionPass").name
PRODUCTS = {"MatMul", "Gemm"}
FORMS = (*ACTIVATIONS, *RELU)


def run(work: Work) -> Outcome:
    return behind(work, NAME, FORMS, PRODUCTS)
