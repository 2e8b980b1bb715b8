"""SwishFusionPass: swish, hard-swish, hard-sigmoid and mish written out, where no convolution or product took them along."""

from __future__ import annotations

from npu.graph.passes.base import Outcome, Work
from npu.graph.passes.conv_activation import WRITTEN_OUT
from npu.graph.passes.fusing import Form, whole
from npu.patterns import named

NAME = named("SwishFusionPass").name
FORMS = tuple(Form(label, pattern) for label, pattern in WRITTEN_OUT)


def run(work: Work) -> Outcome:
    return whole(work, NAME, FORMS)
