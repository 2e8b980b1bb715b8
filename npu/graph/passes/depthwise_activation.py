"""TbeDepthwiseConvElemwiseFusionPass: a depthwise convolution and a LeakyRelu of slope 0 behind it become one kernel."""

from __future__ import annotations

from typing import Any

from npu.graph.passes.base import Outcome, Work
from npu.graph.passes.matcher import escapes
from npu.patterns import named

NAME = named("TbeDepthwiseConvElemwiseFusionPass").name
SLOPE = 0.01  # of LeakyRelu where it is not said


def run(work: Work) -> Outcome:
    outcome = Outcome()
    for node in work.graph:
        conv = node.inputs[0].producer() if node.op_type == "LeakyRelu" and not node.domain and node.inputs[0] else None
        if conv is None or not _depthwise(conv) or not work.free([conv, node]):
            continue
        outcome.matched += 1
        slope = node.attributes.get_float("alpha", SLOPE)
        reason = f"the slope is {slope:g}, not 0" if slope else escapes([conv, node], node)
        if reason:
            outcome.refuse(NAME, conv, reason)
            continue
        work.group([conv, node], "ConvRelu", NAME, root=node)
        outcome.effected += 1
    return outcome


def _depthwise(node: Any) -> bool:
    """Whether every channel is convolved by itself, in two dimensions."""
    data = node.inputs[0].shape if node.op_type == "Conv" and not node.domain and node.inputs[0] is not None else None
    groups = node.attributes.get_int("group", 1) if data is not None else 1
    return data is not None and len(data) == 4 and groups > 1 and data[1] == groups
