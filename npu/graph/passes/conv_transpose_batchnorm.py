"""Conv2DTransposeBatchnormFusionPass: an inference batch normalisation behind a transposed convolution goes into its weights.

As ConvBatchnormFusionPass; the filter [C, K, H, W] has its output channels on the second axis, so groups must be 1.
"""

from __future__ import annotations

from typing import Any

from npu.graph.passes.base import Outcome, Work
from npu.graph.passes.conv_batchnorm import fold, refusal
from npu.graph.passes.fusing import shape
from npu.patterns import named

NAME = named("Conv2DTransposeBatchnormFusionPass").name


def run(work: Work) -> Outcome:
    outcome = Outcome()
    for norm in list(work.graph):
        if norm.op_type != "BatchNormalization" or norm.domain or not norm.inputs or norm.inputs[0] is None:
            continue
        conv = norm.inputs[0].producer()
        if conv is None or conv.op_type != "ConvTranspose" or conv.domain:
            continue
        outcome.matched += 1
        reason = _own_refusal(conv) or refusal(conv, norm)
        if reason:
            outcome.refuse(NAME, conv, reason)
            continue
        fold(work.graph, conv, norm, axis=1)
        outcome.effected += 1
    return outcome


def _own_refusal(conv: Any) -> str:
    if conv.attributes.get_int("group", 1) != 1:
        return f"it has {conv.attributes.get_int('group', 1)} groups, one is needed"
    dims = shape(conv.outputs[0])
    if dims is None or len(dims) != 4:
        return "its result has no fixed shape of 4 dims"
    return ""
