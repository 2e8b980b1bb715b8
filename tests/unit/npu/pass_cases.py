"""Small models for the fusion passes: where each applies and what comes out, and the near misses with their reason."""

import numpy as np

from tests.made_onnx import node
from tests.unit.npu.pass_checks import of_constants

RNG = np.random.default_rng(8)
NUMBERS = {
    "two": 2.0,
    "half": 0.5,
    "one": 1.0,
    "three": 3.0,
    "root2": 2**0.5,
    "eps": 1e-5,
    "cubic": 0.044715,
    "tanh": 0.7978845608,
    "scale": 0.125,
    "zero": 0.0,
}
VECTORS = {n: RNG.normal(size=8).astype(np.float32) for n in ("gamma", "beta", "bias")}
WEIGHTS = {
    "w": RNG.normal(size=(8, 8)).astype(np.float32),
    "filter": RNG.normal(size=(4, 3, 3, 3)).astype(np.float32),
    "channel": RNG.normal(size=(4, 1, 1)).astype(np.float32),
    "column": RNG.normal(size=(4, 1)).astype(np.float32),
    "pads": np.int64([0, 0, 1, 1, 0, 0, 1, 1]),
    "cpads": np.int64([0, 1, 0, 0, 0, 0, 0, 0]),
    "flat": np.int64([2, 32]),
    "back": np.int64([2, 4, 8]),
    "begin": np.int64([0]),
    "far": np.int64([99]),
    "axis1": np.int64([1]),
    "q": np.float32(0.05),
    "q2": np.float32(0.1),
    "z": np.int8(0),
    "qw": RNG.integers(-90, 90, (8, 8)).astype(np.int8),
}
CONSTANTS = {**{n: np.float32(v) for n, v in NUMBERS.items()}, **VECTORS, **WEIGHTS}


def layer_norm(data="x", out="y", axis=-1):
    return [
        node("ReduceMean", data, "m", axes=[axis]),
        node("Sub", f"{data} m", "d"),
        node("Pow", "d two", "p"),
        node("ReduceMean", "p", "v", axes=[axis]),
        node("Add", "v eps", "e"),
        node("Sqrt", "e", "s"),
        node("Div", "d s", "n"),
        node("Mul", "n gamma", "g"),
        node("Add", "g beta", out),
    ]


def rms_norm(data="x", out="y", axis=-1):
    return [
        node("Pow", f"{data} two", "p"),
        node("ReduceMean", "p", "v", axes=[axis]),
        node("Add", "v eps", "e"),
        node("Sqrt", "e", "s"),
        node("Reciprocal", "s", "r"),
        node("Mul", f"{data} r", "n"),
        node("Mul", "gamma n", out),
    ]


def gelu_erf(data="x", out="y"):
    return [
        node("Div", f"{data} root2", "d"),
        node("Erf", "d", "e"),
        node("Add", "e one", "a"),
        node("Mul", f"{data} a", "m"),
        node("Mul", "m half", out),
    ]


GELU_TANH = [
    node("Pow", "x three", "c"),
    node("Mul", "c cubic", "k"),
    node("Add", "x k", "s"),
    node("Mul", "s tanh", "t"),
    node("Tanh", "t", "h"),
    node("Add", "one h", "a"),
    node("Mul", "x half", "m"),
    node("Mul", "m a", "y"),
]


def attention(axis=-1, tail=()):
    return [
        node("MatMul", "q4 k4", "s"),
        node("Mul", "s scale", "c"),
        node("Add", "c mask", "a"),
        node("Softmax", "a", "p", axis=axis),
        node("MatMul", "p v4", "y"),
        *tail,
    ]


HEADS = {"q4": [1, 2, 4, 8], "k4": [1, 2, 8, 4], "v4": [1, 2, 4, 8], "mask": [1, 1, 4, 4]}
X = {"x": [2, 4, 8]}
IMAGE = {"x": [1, 3, 8, 8]}
SOFTMAX = [
    node("ReduceMax", "x", "m", axes=[-1]),
    node("Sub", "x m", "d"),
    node("Exp", "d", "e"),
    node("ReduceSum", "e axes", "s"),
    node("Div", "e s", "y"),
]
PRODUCT = [node("MatMul", "x w", "p"), node("Add", "p bias", "y")]
QDQ = [
    node("QuantizeLinear", "x q z", "xq"),
    node("DequantizeLinear", "xq q z", "xd"),
    node("DequantizeLinear", "qw q z", "wd"),
    node("MatMul", "xd wd", "p"),
    node("QuantizeLinear", "p q2 z", "yq"),
    node("DequantizeLinear", "yq q2 z", "y"),
]
CONV = node("Conv", "x filter", "c", pads=[1, 1, 1, 1])

# name -> pass, nodes, outputs, inputs, operator types of the kernels
APPLIES = {
    "layer norm": ("LayerNormONNXFusionPass", layer_norm(), "y", X, ["LayerNorm"]),
    "layer norm, no shift": ("LayerNormONNXFusionPass", layer_norm()[:7], "n", X, ["LayerNorm"]),
    "rms norm": ("RmsNormFusionPass", rms_norm(), "y", X, ["RmsNorm"]),
    "gelu erf": ("GeluFusionPass", gelu_erf(), "y", X, ["Gelu"]),
    "gelu tanh": ("GeluFusionPass", GELU_TANH, "y", X, ["Gelu"]),
    "swish": ("SwishFusionPass", [node("Sigmoid", "x", "s"), node("Mul", "x s", "y")], "y", X, ["Swish"]),
    "softmax": ("SoftmaxFusionPass", SOFTMAX, "y", X, ["SoftmaxV2"]),
    "attention": ("FlashAttentionFusionPass", attention(), "y", HEADS, ["FlashAttentionScore"]),
    "bias": ("MatMulBiasAddFusionPass", PRODUCT, "y", X, ["BatchMatMulV2"]),
    "bias and gelu": (
        "ATbeMatmulElemwiseFusionPass",
        [*PRODUCT[:1], node("Add", "bias p", "b"), *gelu_erf("b")],
        "y",
        X,
        ["BatchMatMulV2"],
    ),
    "product and relu": ("ATbeMatmulElemwiseFusionPass", [PRODUCT[0], node("Relu", "p", "y")], "y", X, ["BatchMatMulV2"]),
    "gemm": ("GemmToMatmulFusionPass", [node("Gemm", "x w bias", "y", transB=1)], "y", {"x": [4, 8]}, ["MatMulV2"]),
    "add and layer norm": (
        "AddLayerNormFusionPass",
        [node("Add", "x r", "a"), *layer_norm("a", "n2"), node("Exp", "a", "z"), node("Softmax", "n2", "y")],
        "y z",
        {**X, "r": [2, 4, 8]},
        ["AddLayerNorm", "Exp", "SoftmaxV2"],
    ),
    "add and rms norm": (
        "AddRmsNormFusionGraphPass",
        [node("Add", "x t", "a"), *rms_norm("a")],
        "y",
        {**X, "t": [2, 4, 8]},
        ["AddRmsNorm"],
    ),
    "transposes": (
        "PermutePass",
        [node("Transpose", "x", "t", perm=[1, 0, 2]), node("Transpose", "t", "u", perm=[1, 0, 2]), node("Softmax", "u", "y")],
        "y",
        X,
        ["SoftmaxV2"],
    ),
    "reshapes": (
        "ReshapeRemovePass",
        [node("Reshape", "x flat", "r"), node("Reshape", "r back", "b"), node("Softmax", "b", "y")],
        "y",
        X,
        ["SoftmaxV2"],
    ),
    "casts": (
        "CastRemovePass",
        [node("Cast", "x", "c", to=11), node("Cast", "c", "f", to=1), node("Softmax", "f", "y")],
        "y",
        X,
        ["SoftmaxV2"],
    ),
    "split and concat": (
        "StridedSliceConcatFusionPass",
        [node("Split", "x", "a b", axis=2), node("Concat", "a b", "c", axis=-1), node("Softmax", "c", "y")],
        "y",
        X,
        ["SoftmaxV2"],
    ),
    "whole slice": (
        "StridedSliceConcatFusionPass",
        [node("Slice", "x begin far axis1", "s"), node("Softmax", "s", "y")],
        "y",
        X,
        ["SoftmaxV2"],
    ),
    "same twice": (
        "CommonSubexpressionEliminationPass",
        [
            node("Softmax", "x", "a"),
            node("Softmax", "x", "b"),
            node("MatMul", "a w", "p"),
            node("MatMul", "b w", "r"),
            node("Sub", "p r", "y"),
        ],
        "y",
        X,
        ["SoftmaxV2", "BatchMatMulV2", "Sub"],
    ),
    "vector chain": (
        "TbeEltwiseFusionPass",
        [node("Exp", "x", "a"), node("Add", "a x", "b"), node("Neg", "b", "y")],
        "y",
        X,
        ["Exp"],
    ),
    "quantised product": (
        "TbeFullyconnectionElemwiseDequantFusionPass",
        QDQ,
        "y",
        {"x": [4, 8]},
        ["AscendQuant", "MatMulV2", "AscendAntiQuant"],
    ),
    "requantised": (
        "V200RequantFusionPass",
        [*QDQ[:2], node("QuantizeLinear", "xd q z", "b"), node("DequantizeLinear", "b q2 z", "y")],
        "y",
        X,
        ["AscendQuant", "AscendAntiQuant"],
    ),
    "channel factor": ("ConvScaleFusionPass", [CONV, node("Mul", "c channel", "y")], "y", IMAGE, ["Conv2D"]),
    "channel addend": ("AABiasaddConvFusion", [CONV, node("Add", "channel c", "y")], "y", IMAGE, ["Conv2D"]),
    "padding": ("PadConv2dFusionPass", [node("Pad", "x pads", "d"), node("Conv", "d filter", "y")], "y", IMAGE, ["Conv2D"]),
}

# name -> pass, nodes, outputs, inputs, words of the reason ("" where the place is not even nearly one)
DOES_NOT = {
    "layer norm over another axis": ("LayerNormONNXFusionPass", layer_norm(axis=1), "y", X, "goes over axes [1]"),
    "layer norm with an inner output": ("LayerNormONNXFusionPass", layer_norm(), "y v", X, "v is an output of the model"),
    "layer norm with two consumers": (
        "LayerNormONNXFusionPass",
        [*layer_norm(), node("Exp", "e", "z")],
        "y z",
        X,
        "e is also used by Exp_z",
    ),
    "rms norm over another axis": ("RmsNormFusionPass", rms_norm(axis=1), "y", X, "goes over axes [1]"),
    "gelu with two consumers": ("GeluFusionPass", [*gelu_erf(), node("Neg", "e", "z")], "y z", X, "e is also used by Neg_z"),
    "gelu with another number": ("GeluFusionPass", [node("Div", "x three", "d"), *gelu_erf()[1:]], "y", X, ""),
    "swish with the gate as output": (
        "SwishFusionPass",
        [node("Sigmoid", "x", "s"), node("Mul", "x s", "y")],
        "y s",
        X,
        "s is an output",
    ),
    "swish of another value": (
        "SwishFusionPass",
        [node("Sigmoid", "x", "s"), node("Mul", "r s", "y")],
        "y",
        {**X, "r": [2, 4, 8]},
        "",
    ),
    "softmax over another axis": (
        "SoftmaxFusionPass",
        [node("ReduceMax", "x", "m", axes=[1]), *SOFTMAX[1:3], node("ReduceSum", "e axis1", "s"), SOFTMAX[4]],
        "y",
        X,
        "goes over axes [1]",
    ),
    "attention over another axis": ("FlashAttentionFusionPass", attention(axis=2), "y", HEADS, "goes along axis 2"),
    "attention whose scores are an output": ("FlashAttentionFusionPass", attention(), "y p", HEADS, "p is an output"),
    "attention whose scores are read": (
        "FlashAttentionFusionPass",
        attention(tail=[node("Exp", "p", "z")]),
        "y z",
        HEADS,
        "also used by Exp_z",
    ),
    "bias along another axis": ("MatMulBiasAddFusionPass", [PRODUCT[0], node("Add", "p column", "y")], "y", X, "[4, 1]"),
    "a residual connection": ("MatMulBiasAddFusionPass", [PRODUCT[0], node("Add", "p x", "y")], "y", X, "not constant"),
    "product that is an output": ("MatMulBiasAddFusionPass", PRODUCT, "y p", X, "p is an output"),
    "product with two consumers": (
        "ATbeMatmulElemwiseFusionPass",
        [PRODUCT[0], node("Relu", "p", "y"), node("Softmax", "p", "z")],
        "y z",
        X,
        "p is also used by Softmax_z",
    ),
    "scaled gemm": ("GemmToMatmulFusionPass", [node("Gemm", "x w bias", "y", alpha=0.5)], "y", {"x": [4, 8]}, "alpha 0.5"),
    "broadcast add": (
        "AddLayerNormFusionPass",
        [node("Add", "x r", "a"), *layer_norm("a")],
        "y",
        {**X, "r": [4, 8]},
        "differ in shape",
    ),
    "transposed for good": ("PermutePass", [node("Transpose", "x", "y", perm=[1, 0, 2])], "y", X, ""),
    "split on another axis": (
        "StridedSliceConcatFusionPass",
        [node("Split", "x", "a b", axis=2), node("Concat", "a b", "y", axis=1)],
        "y",
        X,
        "another axis",
    ),
    "narrowing casts": (
        "CastRemovePass",
        [node("Cast", "x", "c", to=10), node("Cast", "c", "f", to=1), node("Softmax", "f", "y")],
        "y",
        X,
        "",
    ),
    "twice, as outputs": (
        "CommonSubexpressionEliminationPass",
        [node("Softmax", "x", "y"), node("Softmax", "x", "z")],
        "y z",
        X,
        "needs its own buffer",
    ),
    "chain with two consumers": (
        "TbeEltwiseFusionPass",
        [node("Exp", "x", "a"), node("Neg", "a", "y"), node("Softmax", "a", "z")],
        "y z",
        X,
        "a is also used by",
    ),
    "chain with a broadcast inside": (
        "TbeEltwiseFusionPass",
        [node("Exp", "r", "a"), node("Add", "a x", "y")],
        "y",
        {**X, "r": [4, 8]},
        "",
    ),
    "requantised to another scale": (
        "V200RequantFusionPass",
        [*QDQ[:2], node("QuantizeLinear", "xd q2 z", "b"), node("DequantizeLinear", "b q2 z", "y")],
        "y",
        X,
        "scales differ",
    ),
    "quantised product that is read": (
        "TbeFullyconnectionElemwiseDequantFusionPass",
        [*QDQ, node("Exp", "p", "e")],
        "y e",
        {"x": [4, 8]},
        "p is also used by Exp_e",
    ),
    "factor along the width": ("ConvScaleFusionPass", [CONV, node("Mul", "c gamma", "y")], "y", IMAGE, "no number per channel"),
    "addend, convolution read twice": (
        "AABiasaddConvFusion",
        [CONV, node("Add", "channel c", "y"), node("Exp", "c", "z")],
        "y z",
        IMAGE,
        "c is also used by Exp_z",
    ),
    "padded channels": (
        "PadConv2dFusionPass",
        [node("Pad", "x cpads", "d"), node("Conv", "d filter", "y")],
        "y",
        {"x": [1, 2, 8, 8]},
        "batch or channels",
    ),
}


def made(nodes, outputs, inputs):
    return of_constants({**CONSTANTS, "axes": np.int64([-1])}, nodes, outputs, inputs)
