"""Operators: names as profiles show them, Work worked out by hand."""

import pytest
from onnx import defs

from npu.ops import kernel, registry
from npu.ops.node import Node, Operand
from npu.ops.storage import fractal_nz, fractal_z, nc1hwc0


def value(name, dims, dtype="float32", constant=False):
    return Operand(name, dtype, dims, constant)


def lowered(op_type, inputs, outputs, **attributes):
    return registry.lower(Node(op_type, op_type, tuple(inputs), tuple(outputs), attributes))


def test_every_default_operator_has_a_rule():
    names = {s.name for s in defs.get_all_schemas() if s.domain == ""}
    assert names - set(registry.table()) == set()


def test_a_foreign_domain_is_not_supported():
    assert not registry.supported("com.microsoft", "BeamSearch")
    assert not registry.supported("", "FindMax")
    assert registry.supported("ai.onnx", "Conv")


def test_convolution_work_and_weight_storage():
    # 64 filters of 3x11x11 over 224x224, stride 4, pad 2: 55x55 points
    made = lowered("Conv", [value("x", (32, 3, 224, 224)), value("w", (64, 3, 11, 11), constant=True),
                            value("b", (64,), constant=True)], [value("y", (32, 64, 55, 55))])
    assert made.op_type == "Conv2D"
    assert (made.work.form, made.work.dims) == ("conv", (32, 55, 55, 64, 3, 11, 11, 1))
    # the real profile shows the filter as FRACTAL_Z "121,4,16,8" for FLOAT: 121 * 4 * 16 * 8 cells of 4 bytes
    assert made.stored[1].dims == (121, 4, 16, 8) and made.stored[1].format == "FRACTAL_Z"
    assert made.work.read_bytes == 32 * 3 * 224 * 224 * 4 + 121 * 4 * 16 * 8 * 4 + 64 * 4
    assert made.work.write_bytes == 32 * 64 * 55 * 55 * 4
    assert made.work.epilogue == 32 * 64 * 55 * 55  # the bias


def test_depthwise_and_transposed_convolution():
    made = lowered("Conv", [value("x", (1, 8, 6, 6)), value("w", (8, 1, 3, 3), constant=True)], [value("y", (1, 8, 6, 6))],
                   group=8)
    assert (made.op_type, made.work.form, made.work.dims) == ("DepthwiseConv2D", "depthwise", (1, 6, 6, 8, 1, 3, 3, 8))
    made = lowered("ConvTranspose", [value("x", (1, 8, 6, 6)), value("w", (8, 4, 2, 2), constant=True)],
                   [value("y", (1, 4, 12, 12))], strides=[2, 2])
    # every one of the 6x6 input points meets all 4 x 2x2 kernel cells of 8 channels
    assert (made.op_type, made.work.dims) == ("Conv2DTransposeD", (1, 6, 6, 4, 8, 2, 2, 1))


@pytest.mark.parametrize("left, right, name, dims", [
    ((4, 5), (5, 6), "MatMulV2", (1, 4, 6, 5)),
    ((2, 3, 4, 5), (5, 6), "BatchMatMulV2", (1, 24, 6, 5)),  # a plain right matrix: leading dims are rows
    ((2, 1, 4, 5), (3, 5, 6), "BatchMatMulV2", (6, 4, 6, 5)),
    ((5,), (3, 5, 6), "BatchMatMulV2", (3, 1, 6, 5)),
])
def test_matrix_products(left, right, name, dims):
    made = lowered("MatMul", [value("a", left, "float16"), value("b", right, "float16")], [value("y", ())])
    assert (made.op_type, made.work.form, made.work.dims, made.work.dtype) == (name, "matmul", dims, "float16")


def test_gemm_reads_its_transposition():
    made = lowered("Gemm", [value("a", (5, 4)), value("b", (6, 5))], [value("y", (4, 6))], transA=1, transB=1)
    assert (made.op_type, made.work.dims) == ("MatMulV2", (1, 4, 6, 5))


def test_vector_row_and_move():
    add = lowered("Add", [value("a", (2, 8), "float16"), value("b", (8,), "float16")], [value("y", (2, 8), "float16")])
    assert (add.op_type, add.work.form, add.work.dims) == ("Add", "vector", (16, 1))
    assert (add.work.read_bytes, add.work.write_bytes) == (48, 32)
    soft = lowered("Softmax", [value("x", (2, 3, 10))], [value("y", (2, 3, 10))], axis=-1)
    assert (soft.op_type, soft.work.form, soft.work.dims) == ("SoftmaxV2", "row", (60, 6))
    # a slice reads only what it keeps
    cut = lowered("Slice", [value("x", (100, 4)), value("s", (1,), "int64"), value("e", (1,), "int64")], [value("y", (10, 4))])
    assert (cut.op_type, cut.work.form, cut.work.read_bytes, cut.work.write_bytes) == ("StridedSliceD", "layout", 160, 160)
    assert not cut.computes and add.computes


@pytest.mark.parametrize("op_type", ["Reshape", "Squeeze", "Unsqueeze", "Flatten", "Identity", "Shape"])
def test_reshapes_need_no_kernel(op_type):
    assert lowered(op_type, [value("x", (2, 3))], [value("y", (6,))]) is None


def test_what_runs_on_the_ai_cpu():
    whole = lowered("Mul", [value("a", (4,), "int64"), value("b", (4,), "int64")], [value("y", (4,), "int64")])
    double = lowered("Exp", [value("a", (4,), "float64")], [value("y", (4,), "float64")])
    found = lowered("NonZero", [value("a", (4,))], [value("y", (1, -1), "int64")])
    assert {whole.work.form, double.work.form, found.work.form} == {"aicpu"}
    # moving 64-bit integers is no arithmetic
    assert lowered("Cast", [value("a", (4,), "int64")], [value("y", (4,))]).work.form == "vector"


def test_lstm_is_its_steps_times_two_products():
    made = lowered("LSTM", [value("x", (7, 2, 10)), value("w", (1, 80, 10)), value("r", (1, 80, 20))],
                   [value("y", (7, 1, 2, 20))], hidden_size=20)
    assert (made.op_type, made.work.dims) == ("DynamicRNN", (7, 2, 80, 30))


@pytest.mark.parametrize("causal", [0, 1])
def test_attention_walks_over_all_keys(causal):
    """2 x 8 heads, 64 queries, 64 new keys and 192 of a cache, head size 32: the mask changes nothing."""
    each, cache = value("q", (2, 8, 64, 32)), value("c", (2, 8, 192, 32))
    made = lowered("Attention", [each, each, each, None, cache, cache], [each], is_causal=causal)
    assert made.work.dims == (2, 8, 64, 256, 32)


def test_storage_shapes():
    assert nc1hwc0((8, 3, 224, 224), "float16") == (8, 1, 224, 224, 16)
    assert nc1hwc0((32, 3, 224, 224), "float32") == (32, 1, 224, 224, 8)
    assert fractal_z((64, 64, 3, 3), "float16") == (4 * 9, 4, 16, 16)
    # 32 groups of one channel in half precision: 16 share a block, so two blocks of 3x3
    assert fractal_z((32, 1, 3, 3), "float16", 32) == (2 * 9, 1, 16, 16)
    assert fractal_nz((3, 100, 50), "float16") == (3, 4, 7, 16, 16)


def test_changes_of_layout_know_their_planes():
    """64 x 3 planes of 11 x 11 values; a matrix is moved as a whole."""
    filters = value("w", (64, 3, 11, 11))
    node = Node("trans", "TransData", (filters,), (filters,), {})
    assert kernel.layout(node, "TransData").work.dims == (64 * 3 * 121, 64 * 3)
    flat = value("m", (64, 363))
    assert kernel.layout(Node("trans", "TransData", (flat,), (flat,), {}), "TransData").work.dims == (64 * 363, 1)


def test_an_axis_that_is_not_the_last_is_walked_in_steps():
    """Channels of 2 x 64 x 7 x 7: 64 steps for each of two images; where nothing lies behind them they are rows."""
    dims = (2, 64, 7, 7)
    soft = lowered("Softmax", [value("x", dims)], [value("y", dims)], axis=1)
    summed = lowered("ReduceSum", [value("x", dims)], [value("y", (2, 1, 7, 7))])
    best = lowered("TopK", [value("x", dims)], [value("v", (2, 5, 7, 7)), value("i", (2, 5, 7, 7), "int64")], axis=1)
    assert {(m.work.form, m.work.dims) for m in (soft, summed, best)} == {("across", (2 * 64 * 49, 2, 64))}
    flat = lowered("Softmax", [value("x", (2, 64, 1, 1))], [value("y", (2, 64, 1, 1))], axis=1)
    assert (flat.work.form, flat.work.dims) == ("row", (128, 2))


def test_integers_are_sorted_by_the_ai_cpu():
    values, places = value("v", (4, 5), "int32"), value("i", (4, 5), "int64")
    assert lowered("TopK", [value("x", (4, 100), "int32")], [values, places]).work.form == "aicpu"
    assert lowered("TopK", [value("x", (4, 100), "float16")], [values, places]).work.form == "row"


def test_a_transposition_tells_what_stays_together():
    """Heads and places of 8 x 4 x 16 x 64 change: 64 values move at a time. The last two axes: pieces of 128 bytes."""
    source = value("x", (8, 4, 16, 64), "float16")
    swapped = lowered("Transpose", [source], [value("y", (8, 16, 4, 64), "float16")], perm=[0, 2, 1, 3])
    turned = lowered("Transpose", [source], [value("y", (8, 4, 64, 16), "float16")], perm=[0, 1, 3, 2])
    assert (swapped.work.dims, turned.work.dims) == ((32768, 512), (32768, 512))
    odd = lowered("Transpose", [value("x", (33, 31))], [value("y", (31, 33))], perm=[1, 0])
    assert odd.work.dims == (1023, 33)  # pieces of 31 values
