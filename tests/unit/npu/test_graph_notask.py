"""Weights of products in blocks, and concatenations that need no kernel. Figures by hand."""

import numpy as np
import pytest

from npu.ops.compute import Session
from npu.ops.storage import fractal_nz
from tests.made_onnx import ORIGIN, convert, expected, model, node

CHANNELS = {"x": [1, 3, 8, 8]}


def branches(count=16, batch=1, kind="Conv"):
    """Two convolutions of one image, joined on the channels, and a Relu behind."""
    rng = np.random.default_rng(4)
    constants = {n: rng.normal(size=(count, 3, 3, 3)).astype(np.float32) for n in "vw"}
    nodes = [node("Conv", "x v", "a", pads=[1, 1, 1, 1]), node("Conv", "x w", "b", pads=[1, 1, 1, 1])]
    if kind != "Conv":
        nodes = [node(kind, "x", "a"), node("Sigmoid", "x", "b")]
        constants = {}
    nodes += [node("Concat", "a b", "c", axis=1), node("MaxPool", "c", "y", kernel_shape=[2, 2])]
    return model(nodes, "y", constants, {"x": [batch, 3, 8, 8]})


def kernels(summary):
    return [k.op_type for k in summary.model.kernels]


@pytest.mark.parametrize("batch, count, name", [(1, 16, "ConcatNotaskPass"), (2, 16, "ConvConcatFusionPass"), (2, 8, "")])
def test_joined_channels_are_written_in_place(tmp_path, batch, count, name):
    """One image: the parts lie one behind the other. Two: only convolutions write between each other's blocks, and only whole
    ones: 8 channels of half precision fill half a block."""
    made = branches(count, batch)
    summary = convert(made, tmp_path)
    assert ("ConcatD" in kernels(summary)) == (not name)
    assert summary.model.build["fusion"].get(name, 0) == (1 if name else 0)
    x = np.random.default_rng(1).normal(size=(batch, 3, 8, 8)).astype(np.float32)
    np.testing.assert_allclose(Session(summary.path).run({"x": x})[0], expected(made, {"x": x})[0], rtol=1e-2, atol=5e-2)


def test_memory_of_parts_is_that_of_the_whole(tmp_path):
    """Two parts of 1 x 3 x 8 x 8 floats (768 bytes, in steps of 512: 1024) and their whole (1536): alone, or with the parts."""
    made = branches(kind="Relu")
    flags = {**ORIGIN, "input_format": "ND", "disable_reuse_memory": "1"}
    inside = convert(made, tmp_path, **flags)
    (tmp_path / "off.cfg").write_text("ConcatNotaskPass:off")
    apart = convert(made, tmp_path, **flags, fusion_switch_file=str(tmp_path / "off.cfg"))
    assert (inside.model.memory["feature_map"], apart.model.memory["feature_map"]) == (1536, 3584)
    assert "ConcatD" in kernels(apart) and "ConcatD" not in kernels(inside) and not apart.warnings


@pytest.mark.parametrize("change", ["input", "output", "twice", "open", "odd", "middle"])
def test_where_a_concatenation_must_copy(tmp_path, change):
    dims, flags = [1, 4, 8, 8], {}
    nodes = [node("Relu", "x", "a"), node("Sigmoid", "x", "b"), node("Concat", "a b", "c", axis=1), node("Relu", "c", "y")]
    outputs = "y"
    if change == "input":
        nodes[2] = node("Concat", "a x", "c", axis=1)
    if change == "output":
        outputs = "c"
        del nodes[3]
    if change == "twice":
        nodes.append(node("Softmax", "a", "z"))
        outputs = "y z"
    if change == "open":
        flags = {"input_shape": "x:1~4,4,8,8"}
    if change == "odd":  # 3 * 5 * 1 floats are 60 bytes
        dims = [1, 3, 5, 1]
    if change == "middle":
        dims = [2, 4, 8, 8]
    summary = convert(model(nodes, outputs, {}, {"x": dims}), tmp_path, **ORIGIN, **flags)
    assert "ConcatD" in kernels(summary)


def test_streams_wait_for_all_parts(tmp_path):
    """Long branches run side by side; what reads the whole waits for both, although no kernel joins them."""
    rng = np.random.default_rng(0)
    constants = {n: (rng.normal(size=(64, 64, 3, 3)) / 24).astype(np.float32) for n in ("v", "w", "p", "q")}
    nodes = [node("Conv", "x v", "a", pads=[1, 1, 1, 1]), node("Conv", "a p", "b", pads=[1, 1, 1, 1]),
             node("Conv", "x w", "c", pads=[1, 1, 1, 1]), node("Conv", "c q", "d", pads=[1, 1, 1, 1]),
             node("Concat", "b d", "e", axis=1), node("MaxPool", "e", "y", kernel_shape=[2, 2])]
    summary = convert(model(nodes, "y", constants, {"x": [1, 64, 112, 112]}), tmp_path)
    names = [k.name for k in summary.model.kernels]
    last = {names[maker] for maker, reader in summary.model.events if names[reader] == "MaxPool_y"}
    streams = {k.name: k.stream for k in summary.model.kernels}
    assert streams["Conv_b"] != streams["Conv_d"] and last & {"Conv_b", "Conv_d"} and "ConcatD" not in kernels(summary)


def test_weights_of_products_lie_in_blocks(tmp_path):
    """[20, 40] of half precision: ceil(40/16) x ceil(20/16) blocks of 16 x 16, so 3 * 2 * 512 bytes in place of 1600."""
    assert fractal_nz((20, 40), "float16") == (3, 2, 16, 16)
    constants = {"w": np.ones((20, 40), np.float32), "u": np.ones((8, 40), np.float32)}
    nodes = [node("MatMul", "x w", "h"), node("Gemm", "h u", "y", transB=1)]
    summary = convert(model(nodes, "y", constants, {"x": [4, 20]}), tmp_path)
    first, second = (k for k in summary.model.kernels if k.op_type.startswith("MatMul"))
    assert (first.in_shapes, first.in_formats) == ("4,20;3,2,16,16", "ND;FRACTAL_NZ")
    assert first.work.read_bytes == 4 * 20 * 2 + 3072 and second.in_shapes.endswith(";1,3,16,16")
    assert summary.model.memory["weights"] == 3072 + 3 * 512
