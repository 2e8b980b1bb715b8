"""Passes that give operators another form: what comes out, the same numbers as before, where they refuse and why."""

from itertools import pairwise

import numpy as np
import pytest
from onnx import TensorProto

from npu.ops.compute import Session
from tests.made_onnx import ORIGIN, convert, expected, model, node

RNG = np.random.default_rng(6)
IMAGE = {"x": [1, 4, 8, 8]}
CONSTANTS = {
    "w": RNG.normal(size=(4, 4, 3, 3)).astype(np.float32), "dw": RNG.normal(size=(4, 1, 3, 3)).astype(np.float32),
    **{n: RNG.uniform(0.5, 2, 4).astype(np.float32) for n in ("scale", "offset", "mean", "var")},
    **{n: RNG.uniform(0.5, 2, (4, 1, 1)).astype(np.float32) for n in ("shift", "dev")},
    "around": np.int64([0, 0, 1, 1, 0, 0, 1, 1]), "low": np.float32(-np.inf), "zero": np.float32(0), "two": np.float32(2),
    "zeros": np.zeros((4, 1, 1), np.float32),
}
POOL = {"kernel_shape": [3, 3], "strides": [2, 2]}
TRANSPOSED = [node("ConvTranspose", "x w", "c"), node("BatchNormalization", "c scale offset mean var", "y")]
CASES = {
    "Conv2DTransposeBatchnormFusionPass": (TRANSPOSED, {"Conv2DTransposeD"}, "BNInfer"),
    "ABatchnormFusionPass": ([node("Conv", "x w", "c"), node("Sub", "c shift", "s"), node("Div", "s dev", "y")], {"Conv2D"}, "Sub"),
    "PadMaxPoolFusionPass": ([node("Pad", "x around low", "p"), node("MaxPool", "p", "y", **POOL)], {"MaxPool"}, "PadV3"),
    "PadDepthwiseConv2dFusionPass": (
        [node("Pad", "x around zero", "p"), node("Conv", "p dw", "y", group=4)], {"DepthwiseConv2D"}, "PadV3"),
    "ReluFusionPass": ([node("Conv", "x w", "c"), node("Max", "c zero", "y")], {"Conv2D"}, "Maximum"),
    "TbeReduceElemwiseFusionPass": (
        [node("ReduceMean", "x", "m", axes=[2, 3]), node("Mul", "m two", "d"), node("Tanh", "d", "y")], {"ReduceMeanD"}, "Mul"),
}


def converted(folder, nodes, off="", **flags):
    if off:
        (folder / "off.cfg").write_text(f"{off}:off")
        flags["fusion_switch_file"] = str(folder / "off.cfg")
    return convert(model(nodes, "y", CONSTANTS, IMAGE), folder, input_format="ND", **ORIGIN, **flags)


@pytest.mark.parametrize("name", CASES)
def test_the_form_changes_and_the_numbers_stay(tmp_path, name):
    nodes, wanted, gone = CASES[name]
    summary = converted(tmp_path, nodes)
    assert {k.op_type for k in summary.model.kernels} == wanted and summary.model.build["fusion"][name] >= 1
    assert gone in {k.op_type for k in converted(tmp_path, nodes, name).model.kernels}
    summary = converted(tmp_path, nodes)
    x = RNG.normal(size=(1, 4, 8, 8)).astype(np.float32)
    want = expected(model(nodes, "y", CONSTANTS, IMAGE), {"x": x})[0]
    np.testing.assert_allclose(Session(summary.path).run({"x": x})[0], want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name, nodes, reason", [
    ("Conv2DTransposeBatchnormFusionPass", [node("ConvTranspose", "x dw", "c", group=4), TRANSPOSED[1]], "4 groups"),
    ("ABatchnormFusionPass", [node("Conv", "x w", "c"), node("Div", "c zeros", "y")], "divides by zero"),
    ("PadMaxPoolFusionPass", [node("Pad", "x around zero", "p"), node("MaxPool", "p", "y", **POOL)], "a border of 0"),
    ("PadMaxPoolFusionPass", [node("Pad", "x around low", "p"), node("MaxPool", "p", "y", kernel_shape=[1, 1])], "border only"),
    ("PadMaxPoolFusionPass", [node("Pad", "x around low", "p", mode="edge"), node("MaxPool", "p", "y", **POOL)], "edge"),
    ("TbeReduceElemwiseFusionPass", [node("ReduceMean", "x", "m", axes=[2, 3]), node("Tanh", "m", "t"), node("Add", "t m", "y")],
     "also used by"),
])
def test_near_misses_say_why(tmp_path, name, nodes, reason):
    told = [m.reason for m in converted(tmp_path, nodes).near_misses if m.fusion == name]
    assert told and reason in told[0]


def test_zeros_around_what_is_never_negative(tmp_path):
    nodes = [node("Relu", "x", "r"), node("Pad", "r around", "p"), node("MaxPool", "p", "y", **POOL)]
    summary = converted(tmp_path, nodes)
    assert [k.op_type for k in summary.model.kernels] == ["Relu", "MaxPool"]
    x = -np.ones((1, 4, 8, 8), np.float32)
    assert not Session(summary.path).run({"x": x})[0].any()


def test_clips_that_are_a_relu_and_clips_that_are_none(tmp_path):
    def kinds(*inputs):
        return [k.op_type for k in converted(tmp_path, [node("Clip", " ".join(("x", *inputs)), "y")]).model.kernels]

    assert kinds("zero") == ["Relu"] and kinds("zero", "two") == ["ClipByValue"] and kinds("two") == ["ClipByValue"]


def test_five_operators_fit_behind_a_reduction(tmp_path):
    names = ["m", "a", "b", "c", "d", "e", "y"]
    nodes = [node("ReduceSum", "x", "m", axes=[3])] + [node("Tanh", f"{i}", o) for i, o in pairwise(names)]
    made = convert(model(nodes, "y", {}, IMAGE, opset=11), tmp_path, input_format="ND", **ORIGIN).model.kernels
    assert [(k.op_type, len(k.origin.split("+"))) for k in made] == [("ReduceSumD", 6), ("Tanh", 1)]


def test_a_product_of_halves_may_leave_as_float(tmp_path):
    """2048 + 1 needs more than half precision: the cast after the product keeps what the accumulator holds."""
    nodes = [node("MatMul", "x w", "h"), node("Cast", "h", "y", to=TensorProto.FLOAT)]
    made = model(nodes, "y", {"w": np.ones((2, 1), np.float16)}, {"x": [1, 2]}, types={"x": TensorProto.FLOAT16})
    summary = convert(made, tmp_path, **ORIGIN)
    assert [(k.op_type, k.in_dtypes, k.out_dtypes) for k in summary.model.kernels] == [("MatMulV2", "FLOAT16;FLOAT16", "FLOAT")]
    assert summary.model.build["fusion"]["MatmulCastFusionPass"] == 1


@pytest.mark.parametrize("outputs, kinds", [("y", [("Relu", "FLOAT16", "FLOAT")]),
                                            ("y b", [("Relu", "FLOAT16", "FLOAT16"), ("Cast", "FLOAT16", "FLOAT")])])
def test_a_vector_kernel_writes_another_type(tmp_path, outputs, kinds):
    """Two operators and the cast behind them; an inner result that is asked for keeps the cast apart."""
    nodes = [node("Relu", "x", "a"), node("Neg", "a", "b"), node("Cast", "b", "y", to=TensorProto.FLOAT)]
    made = model(nodes, outputs, {}, IMAGE, types={"x": TensorProto.FLOAT16, "b": TensorProto.FLOAT16})
    summary = convert(made, tmp_path, **ORIGIN)
    assert [(k.op_type, k.in_dtypes, k.out_dtypes) for k in summary.model.kernels] == kinds
    x = np.full((1, 4, 8, 8), 1.5, np.float16)
    assert Session(summary.path).run({"x": x})[0][0, 0, 0, 0] == -1.5
    assert [m.reason for m in summary.near_misses if m.fusion == "TbeEltwiseCastFusionPass"] == (
        [] if outputs == "y" else ["b is an output of the model"])
