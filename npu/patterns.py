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


MATMUL = ("MatMul", "MatMulV2", "MatMulV3", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3", "Gemm")
ADD, MUL = ("Add", "Adds", "AddV2"), ("Mul", "Muls")
SCALED = (*MUL, *DIV)
MEAN = ("ReduceMean", "ReduceMeanD")
SQUARE = ("Pow", "Pows", "Square", "Mul")
SOFTMAX = ("SoftmaxV2", "Softmax")
BIAS_ADD = ("Add", "AddV2", "BiasAdd")

Steps = tuple[tuple[str, ...], ...]
# Normalisations in the order their kernels run; the factor and the shift at the end may be missing.
LAYER_NORM: tuple[Steps, ...] = (
    (MEAN, ("Sub",), SQUARE, MEAN, ADD, ("Sqrt",), DIV, MUL, ADD),
    (MEAN, ("Sub",), SQUARE, MEAN, ADD, ("Rsqrt",), MUL, MUL, ADD),
    (MEAN, ("Sub",), SQUARE, MEAN, ADD, ("Sqrt",), ("Reciprocal",), MUL, MUL, ADD),
)
RMS_NORM: tuple[Steps, ...] = (
    (SQUARE, MEAN, ADD, ("Sqrt",), ("Reciprocal",), MUL, MUL),
    (SQUARE, MEAN, ADD, ("Rsqrt",), MUL, MUL),
    (SQUARE, MEAN, ADD, ("Sqrt",), DIV, MUL),
)
GELU: tuple[Steps, ...] = (
    (SCALED, ("Erf",), ADD, MUL, MUL),
    (SCALED, ("Erf",), ADD, MUL),
    (("Pow", "Pows"), MUL, ADD, MUL, ("Tanh",), ADD, MUL, MUL),
    (MUL, MUL, MUL, ADD, MUL, ("Tanh",), ADD, MUL, MUL),
)
ATTENTION: tuple[Steps, ...] = (
    (MATMUL, SCALED, ADD, SOFTMAX, MATMUL),
    (MATMUL, SCALED, SOFTMAX, MATMUL),
    (MATMUL, ADD, SOFTMAX, MATMUL),
    (MATMUL, SOFTMAX, MATMUL),
)


class Pattern(NamedTuple):
    """steps: empty for a pass that a profile does not show (it changes the graph, not a chain of kernels).

    vector_at: the step of which one operand has to be a vector, -1 for none: a bias is one, a residual connection is not.
    family: patterns of one family are told as one finding; by default the name stands for it.
    """

    name: str  # of the pass
    steps: Steps
    optional_tail: int = 0  # how many steps at the end may be missing
    note: str = ""
    vector_at: int = -1
    family: str = ""


OWN_NAME = "the engine has no public name for it"
CONVOLUTION = "convolution and what follows it"
# A chain belongs to the first pattern that matches it. Patterns of one name are one fusion with different activations behind.
PATTERNS: tuple[Pattern, ...] = (
    *(
        Pattern(
            "ConvBatchnormFusionPass",
            (CONV, BATCH_NORM, *steps),
            note="the activation follows in TbeConv2DEltwisePass",
            family=CONVOLUTION,
        )
        for steps in WRITTEN_OUT
    ),
    Pattern(
        "ConvBatchnormFusionPass",
        (CONV, BATCH_NORM, ACTIVATION),
        optional_tail=1,
        note="batch normalisation is folded into weights and bias; the activation follows in TbeConv2DReluv2Pass",
        family=CONVOLUTION,
    ),
    *(Pattern("TbeConv2DEltwisePass", (CONV, *steps), family=CONVOLUTION) for steps in WRITTEN_OUT),
    *(Pattern("AABiasaddConvFusion", (CONV, BIAS_ADD, *steps), vector_at=1, family=CONVOLUTION) for steps in WRITTEN_OUT),
    Pattern("AABiasaddConvFusion", (CONV, BIAS_ADD, ACTIVATION), optional_tail=1, vector_at=1, family=CONVOLUTION),
    Pattern("TbeConv2DReluv2Pass", (CONV, ("Relu", "ReluV2")), family=CONVOLUTION),
    Pattern("TbeConv2DEltwisePass", (CONV, ACTIVATION), family=CONVOLUTION),
    *(Pattern("FlashAttentionFusionPass", steps) for steps in ATTENTION),
    *(Pattern("LayerNormONNXFusionPass", steps, optional_tail=2) for steps in LAYER_NORM),
    *(Pattern("RmsNormFusionPass", steps, optional_tail=1, note=OWN_NAME) for steps in RMS_NORM),
    *(Pattern("MatMulBiasAddFusionPass", (MATMUL, BIAS_ADD, *steps), vector_at=1) for steps in (*GELU, *WRITTEN_OUT)),
    Pattern("MatMulBiasAddFusionPass", (MATMUL, BIAS_ADD, ACTIVATION), optional_tail=1, vector_at=1),
    Pattern("ATbeMatmulElemwiseFusionPass", (MATMUL, ACTIVATION)),
    *(Pattern("GeluFusionPass", steps) for steps in GELU),
    *(Pattern("SwishFusionPass", steps, note=OWN_NAME) for steps in WRITTEN_OUT),
)

# Passes without a chain of kernels of their own in a profile.
OTHERS: tuple[Pattern, ...] = tuple(
    Pattern(name, ())
    for name in (
        "GemmToMatmulFusionPass",
        "SoftmaxFusionPass",
        "AddLayerNormFusionPass",
        "AddRmsNormFusionGraphPass",
        "PermutePass",
        "ReshapeRemovePass",
        "CastRemovePass",
        "ABatchnormFusionPass",
        "Conv2DTransposeBatchnormFusionPass",
        "PadDepthwiseConv2dFusionPass",
        "PadMaxPoolFusionPass",
        "ReluFusionPass",
        "MatmulCastFusionPass",
        "TbeReduceElemwiseFusionPass",
        "TbeEltwiseCastFusionPass",
        "ConcatNotaskPass",
        "ConvConcatFusionPass",
        "StridedSliceConcatFusionPass",
        "CommonSubexpressionEliminationPass",
        "TbeEltwiseFusionPass",
        "TbeConvDequantQuantFusionPass",
        "TbeFullyconnectionElemwiseDequantFusionPass",
        "V200RequantFusionPass",
        "ConvScaleFusionPass",
        "PadConv2dFusionPass",
        "SplitConvConcatFusionPass",
        "InplaceAddRmsNormFusionPass",
        "AddLayernormV3FusionPass",
        "TbeConv2DAddMulQuantPass",
        "TbeConvSigmoidMulQuantFusionPass",
        "TbeConvDequantVaddReluFusionPass",
        "TbeDepthwiseConvElemwiseFusionPass",
        "TbeConvDoubleInFusionPass",
        "TbeMultiOutputFusionPass",
        "ConstToAttrPass",
        "TbeDynamicElemwiseBroadcastFusionPass",
        "TbeDynamicElemwiseReduceFusionPass",
    )
)


def named(name: str) -> Pattern:
    """The first pattern of that pass; KeyError for an unknown one."""
    for pattern in (*PATTERNS, *OTHERS):
        if pattern.name == name:
            return pattern
    raise KeyError(name)
