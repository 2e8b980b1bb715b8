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


def norm_behind_a_division(width):
    return [node("Div", "x two", "d"), node("Add", "d r", "a"), node("LayerNormalization", "a g", "y", axis=-1)], {
        "two": np.float32(2), "g": np.ones(width, np.float32)}, {"x": [2, width], "r": [2, width]}


@pytest.mark.parametrize("soc, width, kernels, reason", [
    ("Ascend310P3", 320, ["AddLayerNorm"], ""),
    ("Ascend310P3", 300, ["RealDiv", "AddLayerNorm"], "the last axis is 300"),
    ("Ascend910B3", 320, ["RealDiv", "AddLayerNorm"], "")])
def test_a_division_before_a_norm_runs_in_it_on_one_chip_and_for_some_widths(tmp_path, soc, width, kernels, reason):
    nodes, constants, inputs = norm_behind_a_division(width)
    proto = model(nodes, "y", constants, inputs, opset=17)
    summary = convert(proto, tmp_path, input_format="ND", soc_version=soc, **ORIGIN)
    assert [k.op_type for k in summary.model.kernels] == kernels
    told = [m.reason for m in summary.near_misses if m.fusion == "AddLayernormV3FusionPass"]
    assert all(reason in t for t in told) and bool(told) == bool(reason)
    feeds = {n: RNG.normal(size=d).astype(np.float32) for n, d in inputs.items()}
    np.testing.assert_allclose(Session(summary.path).run(feeds)[0], expected(proto, feeds)[0], rtol=1e-4, atol=1e-5)


def test_a_norm_in_place_needs_no_buffers_for_its_results(tmp_path):
    """Two results of 2 x 64 floats (512 bytes each) lie where its operands were."""
    nodes = [node("Exp", "x", "l"), node("Softmax", "x", "o"), node("Softmax", "l", "p"), node("Add", "p o", "a"),
             node("RMSNormalization", "a g", "n", axis=-1), node("Softmax", "n", "y"), node("Softmax", "a", "z")]
    constants = {"g": np.ones(64, np.float32)}
    proto = model(nodes, "y z", constants, {"x": [2, 64]}, opset=23)

    def memory(**flags):
        return convert(proto, tmp_path, newest_opset="23", **ORIGIN, **flags).model.memory

    (tmp_path / "off.cfg").write_text("InplaceAddRmsNormFusionPass:off")
    assert memory()["in_place"] - memory(fusion_switch_file=str(tmp_path / "off.cfg"))["in_place"] == 2 * 512


@pytest.mark.parametrize("seed", range(12))
def test_random_graphs_of_elementwise_operators_stay_what_they_compute(tmp_path, seed):
    """Kernels of two results among chains: no kernel may wait for itself, whatever the graph is like."""
    rng = np.random.default_rng(seed)
    values, nodes = ["x"], []
    for number in range(24):
        kind = rng.choice(["Add", "Mul", "Tanh", "Sigmoid", "Softmax", "Sub"])
        given = [values[i] for i in rng.integers(max(0, len(values) - 5), len(values), 2 if kind in ("Add", "Mul", "Sub") else 1)]
        nodes.append(node(kind, " ".join(given), f"v{number}"))
        values.append(f"v{number}")
    read = {i for n in nodes for i in n.input}
    proto = model(nodes, " ".join(v for v in values if v not in read), {}, {"x": [2, 16]})
    summary = convert(proto, tmp_path, **ORIGIN)
    feeds = {"x": rng.normal(size=(2, 16)).astype(np.float32)}
    for ours, theirs in zip(Session(summary.path).run(feeds), expected(proto, feeds), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("computed, off, kernel, shapes", [
    (False, "", "ReduceSumD", "2,16"), (False, "ConstToAttrPass", "ReduceSum", "2,16;1"), (True, "", "ReduceSum", "2,16;1")])
def test_constant_axes_are_an_attribute(tmp_path, computed, off, kernel, shapes):
    nodes = [node("ReduceSum", "x axes", "s", keepdims=1), node("Softmax", "s", "y")]
    inputs = {"x": [2, 16], **({"axes": [1]} if computed else {})}
    constants = {} if computed else {"axes": np.int64([1])}
    proto = model(nodes, "y", constants, inputs, types={"axes": TensorProto.INT64})
    flags = {"fusion_switch_file": str(tmp_path / "off.cfg")} if off else {}
    (tmp_path / "off.cfg").write_text(f"{off}:off")
    summary = convert(proto, tmp_path, **ORIGIN, **flags)
    found = next(k for k in summary.model.kernels if k.op_type.startswith("Reduce"))
    assert (found.op_type, found.in_shapes) == (kernel, shapes)
    assert found.work.read_bytes == 2 * 16 * 4 + (0 if kernel.endswith("D") else 8)
    assert summary.model.build["fusion"].get("ConstToAttrPass", 0) == (1 if kernel.endswith("D") else 0)
    feeds = {"x": RNG.normal(size=(2, 16)).astype(np.float32), **({"axes": np.int64([1])} if computed else {})}
    np.testing.assert_allclose(Session(summary.path).run(feeds)[0], expected(proto, feeds)[0], rtol=1e-5)


BROADCAST, REDUCED = "TbeDynamicElemwiseBroadcastFusionPass", "TbeDynamicElemwiseReduceFusionPass"


@pytest.mark.parametrize("nodes, counts, kernels, reason", [
    ([node("Add", "x r", "a"), node("Tanh", "a", "t"), node("Mul", "t two", "y")], {BROADCAST: 2}, ["Add"], ""),
    ([node("ReduceMean", "x", "m", axes=[1]), node("Mul", "two m", "d"), node("Tanh", "d", "y")], {REDUCED: 2}, ["ReduceMeanD"], ""),
    ([node("Tanh", "x", "a"), node("Add", "a r", "y")], {}, ["Tanh", "Add"], ""),  # r may make the result larger
    ([node("Tanh", "x", "a"), node("Mul", "a cube", "y")], {}, ["Tanh", "Mul"], ""),  # one number of more dims
    ([node("Tanh", "x", "a"), node("Relu", "a", "y"), node("Softmax", "a", "z")], {}, ["Tanh", "Relu", "SoftmaxV2"], "also used by"),
])
def test_open_shapes_are_fused_as_far_as_they_are_known(tmp_path, nodes, counts, kernels, reason):
    outputs = "y z" if nodes[-1].output[0] == "z" else "y"
    read = {i for n in nodes for i in n.input}
    constants = {"two": np.float32(2), "cube": np.full((1, 1, 1), 3, np.float32)}
    inputs = {n: d for n, d in {"x": ["n", 6], "r": ["n", 6]}.items() if n in read}
    proto = model(nodes, outputs, {n: c for n, c in constants.items() if n in read}, inputs)
    summary = convert(proto, tmp_path, input_shape=";".join(f"{n}:-1,6" for n in inputs), **ORIGIN)
    assert [k.op_type for k in summary.model.kernels] == kernels
    assert {n: v for n, v in summary.model.build["fusion"].items() if n in (BROADCAST, REDUCED)} == counts
    assert all(reason in m.reason for m in summary.near_misses) and bool(summary.near_misses) == bool(reason)
    feeds = {n: RNG.normal(size=(3, 6)).astype(np.float32) for n in inputs}
    for ours, theirs in zip(Session(summary.path).run(feeds), expected(proto, feeds), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)


def test_passes_for_open_shapes_rest_where_they_are_fixed(tmp_path):
    summary = convert(model([node("Tanh", "x", "a"), node("Relu", "a", "y")], "y", {}, {"x": [2, 6]}), tmp_path, **ORIGIN)
    assert summary.model.build["passes_off"][BROADCAST] == "fixed shapes"
