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


class Pattern(NamedTuple):
    name: str  # of the pass
    steps: tuple[tuple[str, ...], ...]
    optional_tail: int = 0  # how many steps at the end may be missing
    note: str = ""


PATTERNS: tuple[Pattern, ...] = (
    Pattern(
        "ConvBatchnormFusionPass",
        (CONV, BATCH_NORM, ACTIVATION),
        optional_tail=1,
        note="batch normalisation is folded into weights and bias; the activation follows in TbeConv2DReluv2Pass",
    ),
)


def named(name: str) -> Pattern:
    """The pattern of that pass; KeyError for an unknown one."""
    for pattern in PATTERNS:
        if pattern.name == name:
            return pattern
    raise KeyError(name)
