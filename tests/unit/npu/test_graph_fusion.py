"""Fusion passes on small graphs: what folds, what does not and why, and the kernels that come out."""

import numpy as np
import onnx
import pytest

from npu import om
from npu.graph.errors import AtcError
from tests.made_onnx import ORIGIN, conv_bn, convert, model, node, weights

TRIPLE = model([*conv_bn(), node("Relu", "n", "y")], "y", weights())


def kernels(summary):
    """Operator types without the format conversions, which test_graph_formats looks at."""
    return [k.op_type for k in summary.model.kernels if k.op_type != "TransData"]


def reasons(summary):
    return [m.reason for m in summary.near_misses]


def test_convolution_with_normalisation_and_relu_is_one_kernel(tmp_path):
    made = convert(TRIPLE, tmp_path, **ORIGIN)
    first, kernel, last = made.model.kernels
    assert (first.op_type, last.op_type) == ("TransData", "TransData")
    assert (kernel.name, kernel.op_type) == ("Conv_cRelu_y", "Conv2D")
    assert kernel.origin == "Conv_c+BatchNormalization_n+Relu_y"
    assert made.model.build["fusion"] == {"ConvBatchnormFusionPass": 1, "TbeConv2DReluv2Pass": 1}
    assert kernel.in_shapes == "1,1,8,8,8;9,1,16,8;4" and kernel.in_formats == "NC1HWC0;FRACTAL_Z;NCHW"
    assert kernel.work.epilogue == 2 * 4 * 8 * 8  # bias and Relu
    assert kernel.work.write_bytes == 8 * 8 * 8 * 4  # four channels take a block of eight


def test_switched_off_everything_stays(tmp_path):
    (tmp_path / "off").write_text("ALL:off\n")
    made = convert(TRIPLE, tmp_path, fusion_switch_file=str(tmp_path / "off"), **ORIGIN)
    assert kernels(made) == ["Conv2D", "BNInfer", "Relu"]
    assert made.model.build["fusion"] == {}


def test_one_pass_switched_off_leaves_the_others(tmp_path):
    (tmp_path / "off").write_text("TbeConv2DReluv2Pass:off\nNoSuchPass:off\n")
    made = convert(TRIPLE, tmp_path, fusion_switch_file=str(tmp_path / "off"), **ORIGIN)
    assert kernels(made) == ["Conv2D", "Relu"]
    assert ["NoSuchPass" in w for w in made.warnings] == [True]


HARD_SWISH = [node("Add", "n three", "a"), node("Clip", "a zero six", "k"), node("Mul", "n k", "m"), node("Div", "m six", "y")]
NUMBERS = {"three": np.float32(3), "zero": np.float32(0), "six": np.float32(6)}


def test_hard_swish_fork_is_bound_as_a_whole(tmp_path):
    made = convert(model([*conv_bn(), *HARD_SWISH], "y", {**weights(), **NUMBERS}), tmp_path, **ORIGIN)
    assert kernels(made) == ["Conv2D"]
    assert made.model.kernels[1].in_shapes == "1,1,8,8,8;9,1,16,8;4"  # 3 and 6 are part of the kernel's code
    assert [f.name.split("_")[0] for f in onnx.load(str(made.path)).functions] == ["ConvHardSwish"]


def test_a_hard_swish_with_other_numbers_is_none(tmp_path):
    made = convert(model([*conv_bn(), *HARD_SWISH], "y", {**weights(), **NUMBERS, "three": np.float32(2.5)}), tmp_path, **ORIGIN)
    assert kernels(made) == ["Conv2D", "Add"]  # a vector chain of four


def test_a_hard_swish_whose_inner_value_is_used_elsewhere(tmp_path):
    nodes = [*conv_bn(), *HARD_SWISH, node("Relu", "k", "z")]
    made = convert(model(nodes, "y z", {**weights(), **NUMBERS}), tmp_path, **ORIGIN)
    assert kernels(made) == ["Conv2D", "Add"]  # the second is no activation, but a vector kernel of two results
    assert "k is also used by Relu_z" in reasons(made)


@pytest.mark.parametrize(
    "nodes, outputs, left_out, reason",
    [
        ([*conv_bn(), node("Relu", "c", "y")], "n y", (), "also used by Relu_y"),
        (conv_bn(), "c n", (), "is an output of the model"),
        (conv_bn(), "n", ("scale",), "scale of the batch normalisation is not constant"),
        (conv_bn(), "n", ("w",), "the filter is not constant"),
        (conv_bn(), "n", ("b",), "the bias of the convolution is not constant"),
    ],
)
def test_near_misses_of_the_fold(tmp_path, nodes, outputs, left_out, reason):
    constants = weights()
    inputs = {"x": [1, 3, 8, 8], **{n: list(constants.pop(n).shape) for n in left_out}}
    made = convert(model(nodes, outputs, constants, inputs), tmp_path, **ORIGIN)
    assert made.counts["graph_fusion"]["ConvBatchnormFusionPass"].matched == 1
    assert made.counts["graph_fusion"]["ConvBatchnormFusionPass"].effected == 0
    assert reason in reasons(made)[0]
    assert "BNInfer" in kernels(made)


def test_default_precision_is_half_and_casts_stand_at_the_border(tmp_path):
    made = convert(TRIPLE, tmp_path)
    assert [k.name for k in made.model.kernels] == [
        "trans_Cast_0",
        "trans_TransData_1",
        "Conv_cRelu_y",
        "trans_TransData_2",
        "trans_Cast_3",
    ]
    first, _, conv, _, last = made.model.kernels
    assert (first.in_dtypes, first.out_dtypes, last.in_dtypes, last.out_dtypes) == ("FLOAT", "FLOAT16", "FLOAT16", "FLOAT")
    assert conv.work.dtype == "float16" and conv.in_dtypes == "FLOAT16;FLOAT16;FLOAT16"
    assert conv.in_shapes == "1,1,8,8,16;9,1,16,16;4"  # sixteen channels to a block
    assert made.model.inputs[0].dtype == "float32"  # the border stays as the model says


def test_shapes_are_folded_and_reshapes_cost_nothing(tmp_path):
    nodes = [
        node("Shape", "x", "s"),
        node("Slice", "s zero1 one", "n"),
        node("Concat", "n minus", "t", axis=0),
        node("Reshape", "x t", "r"),
        node("MatMul", "r k", "y"),
    ]
    constants = {"zero1": np.int64([0]), "one": np.int64([1]), "minus": np.int64([-1]), "k": np.ones((192, 5), np.float32)}
    made = convert(model(nodes, "y", constants), tmp_path, **ORIGIN)
    assert kernels(made) == ["MatMulV2"]
    assert made.model.outputs == (om.Tensor("y", "float32", (1, 5)),)


def test_stored_int8_weights_stay_packed(tmp_path):
    nodes = [node("Cast", "q", "f", to=1), node("Mul", "f step", "w2"), node("MatMul", "x w2", "y")]
    constants = {"q": np.ones((64, 64), np.int8), "step": np.float32(0.1)}
    made = convert(model(nodes, "y", constants, {"x": [1, 64]}), tmp_path, **ORIGIN)
    assert kernels(made) == ["Cast", "Mul", "MatMulV2"]


def test_memory_figures(tmp_path):
    nodes = [node("Exp", "x", "a"), node("Log", "a", "b"), node("Neg", "b", "c"), node("Abs", "c", "y")]
    (tmp_path / "off").write_text("ALL:off\n")
    flags = {**ORIGIN, "fusion_switch_file": str(tmp_path / "off")}
    made = convert(model(nodes, "y", {}, {"x": [1, 256]}), tmp_path, **flags)
    # a, b, c of 1,024 bytes each are written over one another; x and y lie outside
    assert made.model.memory == {"feature_map": 1024, "weights": 0, "workspace": 0, "reuse_saved": 2048, "in_place": 2048}
    soft = [node("Softmax", i, o) for i, o in ("xa", "ab", "bc", "cy")]  # row kernels do not work in place: a and c share
    assert convert(model(soft, "y", {}, {"x": [1, 256]}), tmp_path, **flags).model.memory["feature_map"] == 2048
    made = convert(model(nodes, "y", {}, {"x": [1, 256]}), tmp_path, disable_reuse_memory="1", **flags)
    assert made.model.memory["feature_map"] == 3072


def refused(made, tmp_path, **flags):
    with pytest.raises(AtcError) as caught:
        convert(made, tmp_path, **flags)
    assert not (tmp_path / "m.om").exists()
    return caught.value


def test_an_open_input_wants_its_shape(tmp_path):
    made = model([node("Relu", "x", "y")], "y", {}, {"x": ["N", 3, 8, 8]})
    error = refused(made, tmp_path)
    assert error.code == "E10001" and "[-1, 3, 8, 8]" in error.message and "input_shape" in error.message
    assert convert(made, tmp_path, input_shape="x:2,3,8,8").model.inputs[0].dims == (2, 3, 8, 8)


def test_input_shape_that_does_not_fit_the_model(tmp_path):
    made = model([node("Relu", "x", "y")], "y", {}, {"x": ["N", 3, 8, 8]})
    assert refused(made, tmp_path, input_shape="z:1,3,8,8").code == "E10016"
    assert refused(made, tmp_path, input_shape="x:1,3,8").code == "E10049"
    wrong = model(conv_bn(), "n", weights(), {"x": ["N", 3, 8, 8]})
    error = refused(wrong, tmp_path, input_shape="x:1,5,8,8")  # five channels into a filter of three
    assert error.code == "E19999" and "Conv_c" in error.more[0]


def test_unknown_operators_are_all_listed(tmp_path):
    nodes = [node("FindMax", "x", "a"), node("BeamSearch", "a", "b", domain="com.microsoft"), node("Relu", "b", "y")]
    made = model(nodes, "y", {})
    made.opset_import.add(domain="com.microsoft", version=1)
    error = refused(made, tmp_path)
    told = error.message + " ".join(error.more)
    assert error.code == "E19010"
    assert all(w in told for w in ("FindMax_a", "ai.onnx::13::FindMax", "BeamSearch_b", "com.microsoft::1::BeamSearch"))


def test_a_too_new_operator_set_is_named(tmp_path):
    error = refused(model([node("Relu", "x", "y")], "y", {}, opset=22), tmp_path)
    assert error.code == "E19010" and "ai.onnx::22::Relu" in error.message and "opset 22" in error.more[-1]


def test_a_too_new_file_format_is_named(tmp_path):
    made = model([node("Relu", "x", "y")], "y", {})
    made.ir_version = 20
    error = refused(made, tmp_path)
    assert error.code == "E10041" and "IR version 20" in error.more[0]


def test_stale_shapes_are_told_and_not_used(tmp_path):
    made = model([node("Relu", "x", "y")], "y", {})
    made.graph.output[0].CopyFrom(onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1, 3, 8, 7]))
    summary = convert(made, tmp_path)
    assert summary.model.outputs[0].dims == (1, 3, 8, 8)
    assert "Relu_y" in summary.warnings[0] and "[1, 3, 8, 7]" in summary.warnings[0]


@pytest.mark.parametrize("data, code", [(b"", "E13005"), (b"\x08\x07", "E16004"), (b"\xff\xff not a model", "E13005")])
def test_files_that_are_no_model(tmp_path, data, code):
    from npu.graph.compile import compile
    from npu.graph.options import conversion

    (tmp_path / "m.onnx").write_bytes(data)
    flags = {"framework": "5", "model": str(tmp_path / "m.onnx"), "output": str(tmp_path / "m"), "soc_version": "Ascend910B3"}
    with pytest.raises(AtcError) as caught:
        compile(conversion(flags, ""))
    assert caught.value.code == code


def test_out_nodes_cut_the_graph(tmp_path):
    made = model([node("Relu", "x", "a"), node("Exp", "a", "b"), node("Neg", "b", "y")], "y", {})
    summary = convert(made, tmp_path, out_nodes="Exp_b:0;a", **ORIGIN)
    assert [t.name for t in summary.model.outputs] == ["b", "a"] and kernels(summary) == ["Relu", "Exp"]
    assert refused_out_node(made, tmp_path) == "E11017"


def refused_out_node(made, tmp_path):
    with pytest.raises(AtcError) as caught:
        convert(made, tmp_path, out_nodes="Absent:0")
    return caught.value.code


def test_a_gear_whose_inputs_do_not_fit_each_other_is_named(tmp_path):
    nodes = [node("Concat", "past new", "all", axis=1), node("Add", "all mask", "y")]
    made = model(nodes, "y", {}, {"past": [1, "P"], "new": [1, "N"], "mask": [1, "M"]})
    flags = {"input_format": "ND", "input_shape": "past:1,-1;new:1,-1;mask:1,-1", "dynamic_dims": "8,1,9;8,2,9"}
    error = refused(made, tmp_path, **flags)
    assert error.code == "E19999" and "gear 2 of 2 of --dynamic_dims" in error.more[-1] and "new:1,2" in error.more[-1]
    flags["dynamic_dims"] = "8,1,9;8,2,10"
    assert convert(made, tmp_path, **flags).model.gears[1] == {"past": (1, 8), "new": (1, 2), "mask": (1, 10)}


def test_one_pixel_needs_no_conversion(tmp_path):
    """Blocks of one image with one pixel hold its channels in a row: read as NCHW they are what they were."""
    nodes = [node("Conv", "x w b", "c"), node("GlobalAveragePool", "c", "g"), node("Softmax", "g", "y", axis=1)]
    held = weights()
    made = convert(model(nodes, "y", {"w": held["w"], "b": held["b"]}), tmp_path, **ORIGIN)
    assert [k.op_type for k in made.model.kernels] == ["TransData", "Conv2D", "GlobalAveragePool", "SoftmaxV2"]
    two = convert(model(nodes, "y", {"w": held["w"], "b": held["b"]}, {"x": [2, 3, 8, 8]}), tmp_path, **ORIGIN)
    assert [k.op_type for k in two.model.kernels].count("TransData") == 2  # the padding of the first image lies between
    assert made.model.build["formats"] == {"trans_data": 1, "trans_data_cancelled": 1}
