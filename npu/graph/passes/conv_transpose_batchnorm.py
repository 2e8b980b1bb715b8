"""Conv2DTransposeBatchnormFusionPass: an inference batch normalisation behind a transposed convolution goes into its weights.

As ConvBatchnormFusionPass; the filter [C, K, H, W] has its output channels on the second axis, so groups must be 1.
"""

from __future__ import annotations

from typing import Any

from npu.graph.passes.base import Outcome, Work
from npu.graph.passes.conv_batchnorm import fold_all
from npu.graph.passes.fusing import shape
from npu.patterns import named

NAME = named("Conv2DTransposeBatchnormFusionPass").name


def run(work: Work) -> Outcome:
    return fold_all(work, NAME, "ConvTranspose", _own_refusal, axis=1)


def _own_refusal(conv: Any) -> str:
    if conv.attributes.get_int("group", 1) != 1:
        return f"it has {conv.attributes.get_int('group', 1)} groups, one is needed"
    dims = shape(conv.outputs[0])
    if dims is None or len(dims) != 4:
        return "its result has no fixed shape of 4 dims"
    return ""
