"""Passes around convolutions, kernels of two results and norms in place: where they apply, near misses with their reason, the same
numbers as before."""

import numpy as np
import pytest

from tests.made_onnx import ORIGIN, convert, node
from tests.unit.npu.pass_checks import of_constants, outcome, same, stays

RNG = np.random.default_rng(9)
CONSTANTS = {
    **{n: np.float32(v) for n, v in {"two": 2.0, "eps": 1e-5, "q": 0.05}.items()},
    **{n: RNG.normal(size=8).astype(np.float32) for n in ("gamma", "beta")},
    "filter": RNG.normal(size=(4, 3, 3, 3)).astype(np.float32),
    "depth": RNG.normal(size=(3, 1, 3, 3)).astype(np.float32),
    "qf": RNG.integers(-90, 90, (4, 3, 3, 3)).astype(np.int8),
    "z": np.int8(0),
}
X, IMAGE = {"x": [2, 4, 8]}, {"x": [1, 3, 8, 8]}
CONV = node("Conv", "x filter", "c", pads=[1, 1, 1, 1])


def rms_norm(data, out="y"):
    return [
        node("Pow", f"{data} two", "p"),
        node("ReduceMean", "p", "v", axes=[-1]),
        node("Add", "v eps", "e"),
        node("Sqrt", "e", "s"),
        node("Div", f"{data} s", "n"),
        node("Mul", "gamma n", out),
    ]


REQUANTISED = [node("QuantizeLinear", "m q z", "mq"), node("DequantizeLinear", "mq q z", "y")]
STORED = [
    node("QuantizeLinear", "x q z", "xq"),
    node("DequantizeLinear", "xq q z", "xd"),
    node("DequantizeLinear", "qf q z", "fd"),
    node("Conv", "xd fd", "c"),
]
GROUPS = [
    node("Split", "x", "a b", axis=1),
    node("Conv", "a filter", "c"),
    node("Conv", "b filter", "d"),
    node("Concat", "c d", "e", axis=1),
    node("Softmax", "e", "y"),
]
IN_PLACE = [
    node("Softmax", "x", "l"),
    node("Softmax", "x", "o", axis=1),
    node("Add", "l o", "a"),
    *rms_norm("a"),
    node("Softmax", "a", "z"),
]
# name -> pass, nodes, outputs, inputs, operator types of the kernels
APPLIES = {
    "residual connection": (
        "TbeConvDoubleInFusionPass",
        [CONV, node("Tanh", "r", "t"), node("Add", "t c", "a"), node("Relu", "a", "y")],
        "y",
        {**IMAGE, "r": [1, 4, 8, 8]},
        ["Tanh", "Conv2D"],
    ),
    "depthwise and a slope of 0": (
        "TbeDepthwiseConvElemwiseFusionPass",
        [node("Conv", "x depth", "c", group=3), node("LeakyRelu", "c", "y", alpha=0.0)],
        "y",
        IMAGE,
        ["DepthwiseConv2D"],
    ),
    "groups written out": ("SplitConvConcatFusionPass", GROUPS, "y", {"x": [1, 6, 8, 8]}, ["Conv2D", "SoftmaxV2"]),
    "swish, quantised": (
        "TbeConvSigmoidMulQuantFusionPass",
        [CONV, node("Sigmoid", "c", "s"), node("Mul", "c s", "m"), *REQUANTISED],
        "y",
        IMAGE,
        ["Conv2D", "AscendAntiQuant"],
    ),
    "addend and factor, quantised": (
        "TbeConv2DAddMulQuantPass",
        [CONV, node("Add", "beta c", "a"), node("Mul", "a gamma", "m"), *REQUANTISED],
        "y",
        IMAGE,
        ["Conv2D", "AscendAntiQuant"],
    ),
    "stored integers and a residual connection": (
        "TbeConvDequantVaddReluFusionPass",
        [*STORED, node("Add", "r c", "a"), node("Relu", "a", "y")],
        "y",
        {**IMAGE, "r": [1, 4, 6, 6]},
        ["AscendQuant", "Conv2D"],
    ),
    "norm over its operands": (
        "InplaceAddRmsNormFusionPass",
        IN_PLACE,
        "y z",
        X,
        ["SoftmaxV2", "SoftmaxV2", "InplaceAddRmsNorm", "SoftmaxV2"],
    ),
    "two results": (
        "TbeMultiOutputFusionPass",
        [node("Exp", "x", "a"), node("Neg", "a", "b"), node("Softmax", "a", "y"), node("Softmax", "b", "z")],
        "y z",
        X,
        ["Exp", "SoftmaxV2", "SoftmaxV2"],
    ),
}

# name -> pass, nodes, outputs, inputs, words of the reason
DOES_NOT = {
    "residual of another shape": (
        "TbeConvDoubleInFusionPass",
        [CONV, node("Add", "c r", "y")],
        "y",
        {**IMAGE, "r": [1, 4, 1, 1]},
        "differ in shape",
    ),
    "residual connection, convolution read twice": (
        "TbeConvDoubleInFusionPass",
        [CONV, node("Add", "c r", "y"), node("Softmax", "c", "z")],
        "y z",
        {**IMAGE, "r": [1, 4, 8, 8]},
        "c is also used by Softmax_z",
    ),
    "depthwise and another slope": (
        "TbeDepthwiseConvElemwiseFusionPass",
        [node("Conv", "x depth", "c", group=3), node("LeakyRelu", "c", "y", alpha=0.1)],
        "y",
        IMAGE,
        "the slope is 0.1",
    ),
    "groups in another order": (
        "SplitConvConcatFusionPass",
        [*GROUPS[:3], node("Concat", "d c", "y", axis=1)],
        "y",
        {"x": [1, 6, 8, 8]},
        "in order",
    ),
    "groups joined along the height": (
        "SplitConvConcatFusionPass",
        [*GROUPS[:3], node("Concat", "c d", "y", axis=2)],
        "y",
        {"x": [1, 6, 8, 8]},
        "on the channels",
    ),
    "a group that is an output": ("SplitConvConcatFusionPass", GROUPS, "y c", {"x": [1, 6, 8, 8]}, "c is an output of the model"),
    "a group that is read twice": (
        "SplitConvConcatFusionPass",
        [*GROUPS, node("Exp", "c", "z")],
        "y z",
        {"x": [1, 6, 8, 8]},
        "c is read 2 times",
    ),
    "swish, quantised, whose gate is read": (
        "TbeConvSigmoidMulQuantFusionPass",
        [CONV, node("Sigmoid", "c", "s"), node("Mul", "c s", "m"), *REQUANTISED, node("Softmax", "s", "w")],
        "y w",
        IMAGE,
        "s is also used by Softmax_w",
    ),
    "addend and factor, quantised, as output": (
        "TbeConv2DAddMulQuantPass",
        [CONV, node("Add", "beta c", "a"), node("Mul", "a gamma", "m"), *REQUANTISED],
        "y a",
        IMAGE,
        "a is an output of the model",
    ),
    "stored integers, only one operand": (
        "TbeConvDequantVaddReluFusionPass",
        [*STORED[2:3], node("Conv", "x fd", "c"), node("Add", "r c", "a"), node("Relu", "a", "y")],
        "y",
        {**IMAGE, "r": [1, 4, 6, 6]},
        "only one of the operands",
    ),
    "norm whose operand is read": (
        "InplaceAddRmsNormFusionPass",
        [*IN_PLACE, node("Softmax", "l", "w")],
        "y z w",
        X,
        "l is also used by Softmax_w",
    ),
    "norm of an input": (
        "InplaceAddRmsNormFusionPass",
        [node("Add", "x t", "a"), *rms_norm("a"), node("Softmax", "a", "z")],
        "y z",
        {**X, "t": [2, 4, 8]},
        "memory of the caller",
    ),
    "norm whose sum nobody reads": ("InplaceAddRmsNormFusionPass", IN_PLACE[:-1], "y", X, "there is one result only"),
    "two results, one way back": (
        "TbeMultiOutputFusionPass",
        [node("Exp", "x", "a"), node("Softmax", "a", "s"), node("Add", "a s", "y")],
        "y",
        X,
        "leads back",
    ),
}


def made(nodes, outputs, inputs):
    return of_constants(CONSTANTS, nodes, outputs, inputs)


@pytest.mark.parametrize("case", APPLIES)
def test_it_applies_and_computes_the_same(tmp_path, case):
    name, nodes, outputs, inputs, kernels = APPLIES[case]
    proto = made(nodes, outputs, inputs)
    summary = convert(proto, tmp_path, **ORIGIN)
    assert outcome(summary, name).effected == 1 and summary.model.build["fusion"][name] == 1
    assert [k.op_type for k in summary.model.kernels if k.op_type != "TransData"] == kernels
    same(proto, summary, inputs)
    (tmp_path / "off").write_text(f"{name}:off\n")
    apart = convert(proto, tmp_path, fusion_switch_file=str(tmp_path / "off"), **ORIGIN)
    assert name not in apart.model.build["fusion"]
    same(proto, apart, inputs)


@pytest.mark.parametrize("case", DOES_NOT)
def test_a_near_miss_stays_and_says_why(tmp_path, case):
    name, nodes, outputs, inputs, reason = DOES_NOT[case]
    stays(tmp_path, made(nodes, outputs, inputs), name, inputs, reason)


def test_every_pass_has_a_case_on_either_side():
    assert {c[0] for c in APPLIES.values()} == {c[0] for c in DOES_NOT.values()}
