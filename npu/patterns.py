"""Fusions by name and shape, as data: graph passes apply them, the analyzer names them when a profile shows them unfused.

A pattern is a chain of operator types, head first; each position lists the types it accepts. `gain` says what falls away.
Names are the real pass names of the graph engine; patterns without a public pass name say so in `note`.
"""

from __future__ import annotations

from typing import NamedTuple

CONV = ("Conv2D", "DepthwiseConv2D", "Conv3D", "Conv2DV2")
BATCH_NORM = ("BatchNorm", "BNInfer", "BNInference", "BatchNormInference", "BNTrainingUpdate", "BatchNormV3", "BatchNormInfer")
ACTIVATION = (
    "Relu",
    "ReluV2",
    "Relu6",
    "LeakyRelu",
    "PRelu",
    "Sigmoid",
    "HardSigmoid",
    "HardSwish",
    "Swish",
    "Gelu",
    "Mish",
    "Clip",
    "ClipByValue",
    "ClipByValueV2",
)


CLIP = ("Clip", "ClipByValue", "ClipByValueV2", "Relu6")
DIV = ("RealDiv", "Div")
# Activations that exporters write out as several operators, in the order their kernels run. Bigger forms come first.
WRITTEN_OUT: tuple[tuple[tuple[str, ...], ...], ...] = (
    (("Add", "Adds"), CLIP, ("Mul",), (*DIV, "Mul", "Muls")),  # hard-swish: x * clip(x + 3, 0, 6) / 6
    (("Add", "Adds"), CLIP, (*DIV, "Mul", "Muls"), ("Mul",)),
    (("Add", "Adds"), CLIP, (*DIV, "Muls")),  # hard-sigmoid
    (("Softplus", "SoftplusV2"), ("Tanh",), ("Mul",)),  # mish
    (("HardSigmoid",), ("Mul",)),
    (("Sigmoid",), ("Mul",)),  # swish
)


class Pattern(NamedTuple):
    name: str  # of the pass
    steps: tuple[tuple[str, ...], ...]
    optional_tail: int = 0  # how many steps at the end may be missing
    note: str = ""


# A chain belongs to the first pattern that matches it. Patterns of one name are one fusion with different activations behind.
PATTERNS: tuple[Pattern, ...] = (
    *(
        Pattern("ConvBatchnormFusionPass", (CONV, BATCH_NORM, *steps), note="the activation follows in TbeConv2DEltwisePass")
        for steps in WRITTEN_OUT
    ),
    Pattern(
        "ConvBatchnormFusionPass",
        (CONV, BATCH_NORM, ACTIVATION),
        optional_tail=1,
        note="batch normalisation is folded into weights and bias; the activation follows in TbeConv2DReluv2Pass",
    ),
)


def named(name: str) -> Pattern:
    """The first pattern of that pass; KeyError for an unknown one."""
    for pattern in PATTERNS:
        if pattern.name == name:
            return pattern
    raise KeyError(name)
