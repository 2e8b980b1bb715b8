"""Each fusion pass: where it applies, the kernels that come out, near misses with their reason, the same numbers as before."""

import numpy as np
import pytest
from onnx import TensorProto

from npu.graph.passes.registry import PASSES
from npu.ops.compute import Session
from tests.made_onnx import ORIGIN, convert, expected, model, node
from tests.unit.npu.pass_cases import APPLIES, CONSTANTS, DOES_NOT, IMAGE, RNG, X, layer_norm, made
from tests.unit.npu.pass_checks import outcome, same, stays


@pytest.mark.parametrize("case", APPLIES)
def test_it_applies_and_computes_the_same(tmp_path, case):
    name, nodes, outputs, inputs, kernels = APPLIES[case]
    proto = made(nodes, outputs, inputs)
    summary = convert(proto, tmp_path, **ORIGIN)
    assert outcome(summary, name).effected >= 1 and summary.model.build["fusion"][name] == outcome(summary, name).effected
    assert [k.op_type for k in summary.model.kernels if k.op_type != "TransData"] == kernels
    same(proto, summary, inputs)


@pytest.mark.parametrize("case", APPLIES)
def test_its_switch_stops_it(tmp_path, case):
    name, nodes, outputs, inputs, _ = APPLIES[case]
    (tmp_path / "off").write_text(f"{name}:off\n")
    proto = made(nodes, outputs, inputs)
    summary = convert(proto, tmp_path, fusion_switch_file=str(tmp_path / "off"), **ORIGIN)
    assert name not in summary.model.build["fusion"]
    same(proto, summary, inputs)


@pytest.mark.parametrize("case", DOES_NOT)
def test_a_near_miss_stays_and_says_why(tmp_path, case):
    name, nodes, outputs, inputs, reason = DOES_NOT[case]
    stays(tmp_path, made(nodes, outputs, inputs), name, inputs, reason)


def test_every_pass_has_a_case_on_either_side():
    apart = {
        "ConvBatchnormFusionPass",
        "TbeConv2DEltwisePass",
        "TbeConv2DReluv2Pass",
        "TbeConvDequantQuantFusionPass",
        "PadMaxPoolFusionPass",
        "PadDepthwiseConv2dFusionPass",
        "Conv2DTransposeBatchnormFusionPass",
        "MatmulCastFusionPass",
        "ABatchnormFusionPass",
        "ReluFusionPass",
        "TbeReduceElemwiseFusionPass",
        "TbeEltwiseCastFusionPass",
        "AddLayernormV3FusionPass",
        "InplaceAddRmsNormFusionPass",
        "TbeConvDoubleInFusionPass",
        "TbeMultiOutputFusionPass",
        "TbeDepthwiseConvElemwiseFusionPass",
        "SplitConvConcatFusionPass",
        "TbeConvSigmoidMulQuantFusionPass",
        "TbeConv2DAddMulQuantPass",
        "TbeConvDequantVaddReluFusionPass",
        "TbeDynamicElemwiseBroadcastFusionPass",
        "TbeDynamicElemwiseReduceFusionPass",
    }  # tested elsewhere
    names = {p.name for p in PASSES} - apart
    assert names <= {c[0] for c in APPLIES.values()}
    assert names - {"ReshapeRemovePass", "AddRmsNormFusionGraphPass"} <= {c[0] for c in DOES_NOT.values()}


def test_an_activation_behind_the_cube_costs(tmp_path):
    plain = convert(made(APPLIES["product and relu"][1], "y", X), tmp_path, **ORIGIN).model.kernels[0].work
    rich = convert(made(APPLIES["bias and gelu"][1], "y", X), tmp_path, **ORIGIN).model.kernels[0].work
    assert plain.op == "BatchMatMulV2Relu" and "Gelu" in rich.op
    # a result of 64: bias 1, Div 1, Erf 6, Add 1, Mul 1, Mul 1
    assert (plain.epilogue, rich.epilogue) == (64, 64 * 11)


def test_a_quantised_convolution_computes_in_int8(tmp_path):
    nodes = [
        node("QuantizeLinear", "x q z", "xq"),
        node("DequantizeLinear", "xq q z", "xd"),
        node("DequantizeLinear", "f q z", "fd"),
        node("Conv", "xd fd", "c"),
        node("Relu", "c", "r"),
        node("QuantizeLinear", "r q2 z", "yq"),
        node("DequantizeLinear", "yq q2 z", "y"),
    ]
    constants = {
        "q": CONSTANTS["q"],
        "q2": CONSTANTS["q2"],
        "z": CONSTANTS["z"],
        "f": RNG.integers(-90, 90, (4, 3, 3, 3)).astype(np.int8),
    }
    proto = model(nodes, "y", constants, IMAGE)
    summary = convert(proto, tmp_path, **ORIGIN)
    (kernel,) = [k for k in summary.model.kernels if k.op_type == "Conv2D"]
    assert kernel.work.dtype == "int8" and kernel.in_dtypes == "INT8;INT8" and kernel.out_dtypes == "INT8"
    same(proto, summary, IMAGE)


def test_a_fused_norm_survives_half_precision(tmp_path):
    """Written out, the sum of squares overflows half precision between kernels: 300 * 300 > 65,504."""
    (tmp_path / "off").write_text("ALL:off\n")
    proto = made(layer_norm(), "y", X)
    feeds = {"x": (RNG.normal(size=(2, 4, 8)) * 300).astype(np.float32)}
    right = expected(proto, feeds)[0]
    fused = Session(convert(proto, tmp_path).path).run(feeds)[0]
    apart = Session(convert(proto, tmp_path, fusion_switch_file=str(tmp_path / "off")).path).run(feeds)[0]
    assert abs(fused - right).max() < 0.02 < abs(apart - right).max()


def test_a_chain_rounds_inside_as_its_kernels_did(tmp_path):
    nodes = [node("Mul", "x big", "a"), node("Mul", "a big", "b"), node("Div", "b big", "y")]
    proto = model(nodes, "y", {"big": np.float32(1000)}, {"x": [1]}, types={"x": TensorProto.FLOAT})
    summary = convert(proto, tmp_path)
    assert len([k for k in summary.model.kernels if k.op_type == "Mul"]) == 1
    assert np.isinf(Session(summary.path).run({"x": np.ones(1, np.float32)})[0][0])
