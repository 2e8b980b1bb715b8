"""Every supported operator of com.microsoft: converted, with a kernel of its own, and computed as onnxruntime does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from npu.graph.errors import AtcError
from npu.ops.compute import Session
from npu.ops.registry import MICROSOFT, rules
from tests.made_onnx import ORIGIN, convert, expected

RNG = np.random.default_rng(4)
Array = np.ndarray


class Case(NamedTuple):
    """inputs in the order of the operator, None where one is left out; the first `given` of them are inputs of the model, the
    others weights. outputs: element types. kernel: the operator type the plan shows; None where there is no kernel."""

    op: str
    inputs: tuple[Array | None, ...]
    outputs: tuple[int, ...]
    kernel: str | None
    attributes: Mapping[str, Any] = MappingProxyType({})
    given: int = 1


def f(*dims: int) -> Array:
    return RNG.normal(size=dims).astype(np.float32)


def q(*dims: int, signed: bool = False) -> Array:
    return RNG.integers(-100 if signed else 0, 100 if signed else 200, dims).astype(np.int8 if signed else np.uint8)


def s(value: float) -> Array:
    return np.array(value, np.float32)


def z(value: int, signed: bool = False) -> Array:
    return np.array(value, np.int8 if signed else np.uint8)


FLOAT, UINT8, INT8, INT32 = TensorProto.FLOAT, TensorProto.UINT8, TensorProto.INT8, TensorProto.INT32
SCALED = (s(0.02), z(100))  # scale and zero point
IDS = np.array([[1, 5, 3, 0], [2, 2, 7, 9]], np.int32)
PERMUTED = np.arange(6, dtype=np.int64).reshape(2, 3) % 3

CASES: dict[str, Case] = {
    "gelu": Case("Gelu", (f(2, 8),), (FLOAT,), "Gelu"),
    "gelu by a polynomial": Case("FastGelu", (f(2, 8), f(8)), (FLOAT,), "FastGelu"),
    "gelu with bias": Case("BiasGelu", (f(2, 8), f(8)), (FLOAT,), "Gelu"),
    "gelu by a sigmoid": Case("QuickGelu", (f(2, 8),), (FLOAT,), "FastGelu", {"alpha": 1.702}),
    "rotation": Case("RotaryEmbedding", (f(2, 3, 8), PERMUTED, f(5, 2), f(5, 2)), (FLOAT,), "RotaryPositionEmbedding",
                     {"num_heads": 2}),
    "quantised sum": Case("QLinearAdd", (q(2, 3, 4), *SCALED, q(4), *SCALED, s(0.05), z(90)), (UINT8,), "Add"),
    "quantised product": Case("QLinearMul", (q(2, 3, 4), *SCALED, q(3, 1), *SCALED, s(0.05), z(90)), (UINT8,), "Mul"),
    "quantised sigmoid": Case("QLinearSigmoid", (q(2, 9), *SCALED, s(1 / 256), z(0)), (UINT8,), "Sigmoid"),
    "quantised leaky relu": Case("QLinearLeakyRelu", (q(2, 9), *SCALED, s(0.02), z(50)), (UINT8,), "LeakyRelu", {"alpha": 0.1}),
    "quantised softmax": Case("QLinearSoftmax", (q(2, 9), *SCALED, s(1 / 256), z(0)), (UINT8,), "SoftmaxV2",
                              {"axis": -1, "opset": 13}),
    "quantised choice": Case("QLinearWhere", (RNG.integers(0, 2, (2, 4)).astype(bool), q(2, 4), *SCALED, q(4), *SCALED, s(0.03),
                                              z(80)), (UINT8,), "SelectV2"),
    "quantised concatenation": Case("QLinearConcat", (s(0.03), z(80), q(2, 3), *SCALED, q(2, 5), s(0.04), z(70)), (UINT8,),
                                    "ConcatD", {"axis": 1}, 0),
    "quantised global pool": Case("QLinearGlobalAveragePool", (q(1, 3, 4, 4), *SCALED, *SCALED), (UINT8,), "GlobalAveragePool"),
    "quantised global pool, channels last": Case("QLinearGlobalAveragePool", (q(1, 4, 4, 3), *SCALED, *SCALED), (UINT8,),
                                                 "GlobalAveragePool", {"channels_last": 1}),
    "quantised pool": Case("QLinearAveragePool", (q(1, 3, 5, 5), *SCALED, *SCALED), (UINT8,), "AvgPoolV2",
                           {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}),
    "pool, channels last": Case("NhwcMaxPool", (q(1, 5, 5, 3),), (UINT8,), "MaxPool",
                                {"kernel_shape": [2, 2], "strides": [2, 2], "ceil_mode": 1}),
    "quantise": Case("QuantizeLinear", (f(2, 8), *SCALED), (UINT8,), "AscendQuant"),
    "dequantise": Case("DequantizeLinear", (q(2, 8), *SCALED), (FLOAT,), "AscendAntiQuant"),
    "product": Case("FusedMatMul", (f(2, 4, 3), f(2, 5, 4)), (FLOAT,), "BatchMatMulV2", {"transA": 1, "transB": 1, "alpha": 0.5}),
    "product, turned": Case("TransposeMatMul", (f(4, 3), f(4, 5)), (FLOAT,), "MatMulV2", {"transA": 1}),
    "gemm with activation": Case("FusedGemm", (f(2, 3), f(3, 5), f(5)), (FLOAT,), "MatMulV2",
                                 {"activation": "LeakyRelu", "activation_alpha": 0.2}),
    "quantised gemm": Case("QGemm", (q(2, 3), *SCALED, q(5, 3), *SCALED, RNG.integers(-9, 9, 5).astype(np.int32), s(0.1), z(99)),
                           (UINT8,), "QuantBatchMatmulV3", {"transB": 1}),
    "quantised gemm to float": Case("QGemm", (q(2, 3), *SCALED, q(3, 5), *SCALED), (FLOAT,), "QuantBatchMatmulV3"),
    "dynamically quantised product": Case("DynamicQuantizeMatMul", (f(2, 8), q(8, 5), s(0.01), z(100), f(5)), (FLOAT,),
                                          "QuantBatchMatmulV3"),
    "integer product to float": Case("MatMulIntegerToFloat", (q(2, 8), q(8, 5), s(0.02), s(0.01), z(90), z(100), f(5)), (FLOAT,),
                                     "QuantBatchMatmulV3"),
    "weights of four bits": Case("MatMulNBits", (f(2, 32), q(5, 1, 16), f(5)), (FLOAT,), "WeightQuantBatchMatmulV2",
                                 {"K": 32, "N": 5, "bits": 4, "block_size": 32}),
    "convolution with activation": Case("FusedConv", (f(1, 3, 8, 8), f(4, 3, 3, 3), f(4)), (FLOAT,), "Conv2D",
                                        {"activation": "Relu", "pads": [1, 1, 1, 1], "strides": [2, 2]}),
    "convolution with sum and activation": Case("FusedConv", (f(1, 3, 8, 8), f(4, 3, 3, 3), f(4), f(1, 4, 6, 6)), (FLOAT,),
                                                "Conv2D", {"activation": "Relu"}),
    "norm with residual": Case("SkipLayerNormalization", (f(2, 3, 8), f(2, 3, 8), f(8), f(8), f(8)), (FLOAT,), "AddLayerNorm"),
    "norm with residual, sum kept": Case("SkipLayerNormalization", (f(2, 3, 8), f(2, 3, 8), f(8), f(8)), (FLOAT, 0, 0, FLOAT),
                                         "AddLayerNorm"),
    "root mean square norm": Case("SkipSimplifiedLayerNormalization", (f(2, 3, 8), f(2, 3, 8), f(8)), (FLOAT,), "AddRmsNorm"),
    "embedding": Case("EmbedLayerNormalization", (IDS, IDS % 2, f(10, 8), f(6, 8), f(2, 8), f(8), f(8), (IDS > 0).astype(np.int32)),
                      (FLOAT, INT32), "AddLayerNorm", {}, 2),
    "embedding, quantised": Case("QEmbedLayerNormalization", (IDS, IDS % 2, q(10, 8), q(6, 8), q(2, 8), q(8), q(8), None,
                                 *(s(0.02) for _ in range(5)), *(z(100) for _ in range(5))), (FLOAT, INT32), "AddLayerNorm",
                                 {}, 2),
    "attention with projection": Case("Attention", (f(2, 4, 8), f(8, 24), f(24)), (FLOAT,), "PromptFlashAttention", {"num_heads": 2}),
    "attention, causal": Case("Attention", (f(2, 4, 8), f(8, 24), f(24), np.array([4, 2], np.int32)), (FLOAT,),
                              "PromptFlashAttention", {"num_heads": 2, "unidirectional": 1}),
    "attention with cache": Case("Attention", (f(2, 1, 8), f(8, 24), f(24), None, f(2, 2, 2, 3, 4)), (FLOAT, FLOAT),
                                 "PromptFlashAttention", {"num_heads": 2, "unidirectional": 1}),
    "attention, quantised": Case("QAttention", (q(2, 4, 8), q(8, 24, signed=True), f(24), s(0.02), s(0.01), None, z(90),
                                                z(0, signed=True)), (FLOAT,), "PromptFlashAttention", {"num_heads": 2}),
    "attention of heads": Case("MultiHeadAttention", (f(2, 3, 8), f(2, 5, 8), f(2, 5, 8)), (FLOAT,), "PromptFlashAttention",
                               {"num_heads": 2}, 3),
    "attention of heads, keys in heads": Case("MultiHeadAttention", (f(2, 3, 8), f(2, 2, 5, 4), f(2, 2, 5, 4)), (FLOAT,),
                                              "PromptFlashAttention", {"num_heads": 2}, 3),
    "attention of one query": Case("MultiHeadAttention", (f(2, 1, 8), f(2, 1, 8), f(2, 1, 8), None, None, None, f(2, 2, 3, 4),
                                                          f(2, 2, 3, 4)), (FLOAT, FLOAT, FLOAT), "IncreFlashAttention",
                                   {"num_heads": 2}, 3),
    "attention of groups": Case("GroupQueryAttention", (f(1, 4, 32), f(1, 4, 16), f(1, 4, 16), f(1, 1, 0, 16), f(1, 1, 0, 16),
                                np.array([3], np.int32), np.array([4], np.int32)), (FLOAT, FLOAT, FLOAT),
                                "PromptFlashAttention", {"num_heads": 2, "kv_num_heads": 1}, 3),
    "quantised lstm": Case("DynamicQuantizeLSTM", (f(3, 1, 4), q(1, 4, 20), q(1, 5, 20), f(1, 40), None, None, None, None, np.full(1, 0.01, np.float32),
                           np.full(1, 90, np.uint8), np.full(1, 0.01, np.float32), np.full(1, 90, np.uint8)), (FLOAT, FLOAT), "DynamicRNN", {"hidden_size": 5}),
    "triangle": Case("Trilu", (f(4, 4), np.array(1, np.int64)), (FLOAT,), "Trilu"),
    "one more axis": Case("ExpandDims", (f(4, 3), np.array(1, np.int32)), (FLOAT,), None),
}  # fmt: skip


def made(case: Case, opset: int = 17) -> tuple[onnx.ModelProto, dict[str, Array]]:
    names = [f"i{at}" if a is not None else "" for at, a in enumerate(case.inputs)]
    outputs = [f"o{at}" if kind else "" for at, kind in enumerate(case.outputs)]
    node = helper.make_node(case.op, names, outputs, "it", domain=MICROSOFT, **case.attributes)
    feeds = {n: a for n, a in zip(names[: case.given], case.inputs, strict=False) if a is not None}
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in feeds.items()],
        [helper.make_tensor_value_info(n, kind, None) for n, kind in zip(outputs, case.outputs, strict=True) if kind],
        [numpy_helper.from_array(a, n) for n, a in zip(names, case.inputs, strict=True) if a is not None and n not in feeds],
    )
    sets = [helper.make_opsetid("", opset), helper.make_opsetid(MICROSOFT, 1)]
    return helper.make_model(graph, opset_imports=sets, ir_version=8), feeds


@pytest.mark.parametrize("name", CASES)
def test_computed_as_onnxruntime_does(name: str, tmp_path: Any) -> None:
    proto, feeds = made(CASES[name])
    summary = convert(proto, tmp_path, **ORIGIN)
    results = Session(summary.path).run(feeds)
    for got, right, told in zip(results, expected(proto, feeds), summary.model.outputs, strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-5, atol=1e-6)
        assert got.dtype == told.dtype
        assert len(got.shape) == len(told.dims) and all(d in (-1, g) for d, g in zip(told.dims, got.shape, strict=True))
        assert -1 not in told.dims or CASES[name].op in ("ExpandDims", "GroupQueryAttention")
    assert [k.op_type for k in summary.model.kernels if not k.op_type.startswith("Trans")] == [k for k in [CASES[name].kernel] if k]


def test_every_supported_operator_is_tried() -> None:
    assert {c.op for c in CASES.values()} == set(rules(MICROSOFT))


def work(name: str, tmp_path: Any) -> Any:
    return next(k.work for k in convert(made(CASES[name])[0], tmp_path, **ORIGIN).model.kernels if not k.op_type.startswith("Trans"))


@pytest.mark.parametrize(("name", "form", "dims"), [
    ("product", "matmul", (2, 3, 5, 4)),  # [2,4,3] and [2,5,4], both turned
    ("quantised gemm", "matmul", (1, 2, 5, 3)),
    ("weights of four bits", "matmul", (1, 2, 5, 32)),
    # 8 rows; 24 columns of the projection, and 2 * 4 keys * 8 wide / 8 inputs = 8 columns for scores and sums
    ("attention with projection", "matmul", (1, 8, 32, 8)),
    ("attention of heads", "attention", (2, 2, 3, 5, 4)),
    ("attention of one query", "attention", (2, 2, 1, 4, 4)),  # one new key behind three of the cache
    ("convolution with activation", "conv", (1, 4, 4, 4, 3, 3, 3, 1)),
    ("quantised lstm", "matmul", (3, 1, 20, 9)),
    ("norm with residual", "row", (48, 6)),
])  # fmt: skip
def test_work(name: str, form: str, dims: tuple[int, ...], tmp_path: Any) -> None:
    found = work(name, tmp_path)
    assert (found.form, found.dims) == (form, dims)


def test_a_product_of_integers_is_one_of_the_cube_in_int8(tmp_path: Any) -> None:
    found = work("dynamically quantised product", tmp_path)
    assert (found.dtype, found.epilogue) == ("int8", 10)


def test_an_embedding_reads_its_rows_and_not_the_table(tmp_path: Any) -> None:
    assert work("embedding", tmp_path).read_bytes == 3 * 4 * 2 * 4 * 8  # three rows of 8 floats for each of 2 * 4 tokens


def chain(length: int) -> onnx.ModelProto:
    """Operators of both domains in turn, so that each needs the shape the other gave."""
    nodes = []
    for at in range(length):
        nodes.append(helper.make_node("QuickGelu", [f"v{2 * at}"], [f"v{2 * at + 1}"], f"q{at}", domain=MICROSOFT))
        nodes.append(helper.make_node("Transpose", [f"v{2 * at + 1}"], [f"v{2 * at + 2}"], f"t{at}", perm=[1, 0]))
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("v0", FLOAT, [2, 3])],
                              [helper.make_tensor_value_info(f"v{2 * length}", FLOAT, None)])  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(MICROSOFT, 1)], ir_version=8)


def test_shapes_go_through_both_domains(tmp_path: Any) -> None:
    summary = convert(chain(5), tmp_path, **ORIGIN)
    assert summary.model.outputs[0].dims == (3, 2)
    assert [k.out_shapes for k in summary.model.kernels if k.op_type == "FastGelu"] == ["2,3", "3,2", "2,3", "3,2", "2,3"]


def refused(proto: onnx.ModelProto, tmp_path: Any) -> AtcError:
    with pytest.raises(AtcError) as caught:
        convert(proto, tmp_path, **ORIGIN)
    return caught.value


def test_unsupported_ones_are_named_all_at_once(tmp_path: Any) -> None:
    proto = chain(1)
    for name in ("MurmurHash3", "BeamSearch"):
        proto.graph.node.append(helper.make_node(name, ["v2"], [f"{name}_out"], f"{name}_node", domain=MICROSOFT))
    error = refused(proto, tmp_path)
    assert error.code == "E19010"
    assert error.message == (
        "No parser is registered for op [MurmurHash3_node, optype [com.microsoft::1::MurmurHash3]]."
    )
    assert error.more == ("No parser is registered for op [BeamSearch_node, optype [com.microsoft::1::BeamSearch]].",)


def _without_input(proto: onnx.ModelProto) -> None:
    proto.graph.node[0].input.pop()


def _unknown_attribute(proto: onnx.ModelProto) -> None:
    proto.graph.node[0].attribute.append(helper.make_attribute("shape_of_it", 3))


@pytest.mark.parametrize("spoil", [_without_input, _unknown_attribute])
def test_a_node_that_its_schema_does_not_allow(spoil: Callable[[onnx.ModelProto], None], tmp_path: Any) -> None:
    proto = made(CASES["dequantise"])[0]
    while len(proto.graph.node[0].input) > 2 and spoil is _without_input:
        proto.graph.node[0].input.pop()
    spoil(proto)
    error = refused(proto, tmp_path)
    assert error.code == "E10041" and ("it" in error.more[0] or "DequantizeLinear" in error.more[0])


def test_operands_of_another_rank_are_refused(tmp_path: Any) -> None:
    proto = made(Case("Attention", (f(2, 8), f(8), f(24)), (FLOAT,), "", {"num_heads": 2}))[0]
    error = refused(proto, tmp_path)
    assert error.code == "E19999" and error.more == ("Attention it: operands of such shapes do not fit each other.",)
