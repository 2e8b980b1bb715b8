"""Operators of one's own in a model: converted, computed, costed by their schedule, refused by name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import helper, numpy_helper

from npu import om, tbe
from npu.cost import kernel
from npu.graph.compile import compile
from npu.graph.errors import AtcError
from npu.graph.options import conversion
from npu.graph.precheck import result
from npu.ops.compute import Session
from npu.soc import find
from npu.tbe import custom_opp

DOMAIN = "test.ops"
FILE = """
from npu import tbe

@tbe.operator("Blend", domain="test.ops")
def blend(x, y, *, share=0.5):
    return tbe.dsl.vadd(tbe.dsl.vmuls(x, share), tbe.dsl.vmuls(y, 1 - share))

@tbe.operator("Spread", domain="test.ops")
def spread(x):
    top = tbe.dsl.reduce_max(x, axis=1, keepdims=True)
    return tbe.dsl.vexp(tbe.dsl.vsub(x, tbe.dsl.broadcast(top, x.shape)))

@tbe.operator("Norm", domain="test.ops")
def norm(x, *, axis=0):
    return tbe.dsl.vsqrt(tbe.dsl.reduce_sum(tbe.dsl.vmul(x, x), axis=axis))

@tbe.operator("Product", domain="test.ops")
def product(x, y):
    return tbe.dsl.matmul(x, y, trans_b=True)

def one_core(out, chip):
    return tbe.create_schedule(out)

@tbe.operator("Slow", domain="test.ops", schedule=one_core)
def slow(x):
    return tbe.dsl.vrelu(tbe.dsl.cast_to(tbe.dsl.cast_to(x, "float16"), x.dtype))
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    place = tmp_path / "opp" / custom_opp.PLACE / "my_impl"
    place.mkdir(parents=True)
    (place / "ops.py").write_text(FILE)
    monkeypatch.setenv(custom_opp.VARIABLE, str(tmp_path / "opp"))
    monkeypatch.setenv("TUNE_BANK_PATH", str(tmp_path / "bank"))
    return tmp_path


def own(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs.split(), outputs.split(), name=f"own_{outputs}", domain=DOMAIN, **attributes)


def converted(folder: Path, nodes, inputs, outputs="y", opset=13, **flags):
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(n, 1, d) for n, d in inputs.items()],
                              [helper.make_tensor_value_info(n, 1, None) for n in outputs.split()],
                              [numpy_helper.from_array(np.float32([2]), "two")])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid(DOMAIN, 1)], ir_version=8)
    (folder / "m.onnx").write_bytes(made.SerializeToString())
    values = {"framework": "5", "model": str(folder / "m.onnx"), "output": str(folder / "m"), "soc_version": "Ascend910B3",
              "export_compile_stat": "0", "precision_mode": "must_keep_origin_dtype", **flags}
    return compile(conversion(values, "atc")).path


X = np.random.default_rng(5).normal(size=(48, 64)).astype(np.float32)
Y = np.random.default_rng(6).normal(size=(48, 64)).astype(np.float32)


@pytest.mark.parametrize("opset", [11, 13, 18])
@pytest.mark.parametrize("nodes, wanted", [
    ([own("Blend", "x z", "y", share=0.25)], X * np.float32(0.25) + Y * np.float32(0.75)),
    ([own("Blend", "x x", "y")], X),
    ([own("Spread", "x", "y")], np.exp(X - X.max(1, keepdims=True))),
    ([own("Norm", "x", "y", axis=1)], np.sqrt((X * X).sum(1))),
    ([own("Product", "x z", "y")], X @ Y.T),
    ([own("Slow", "x", "a"), helper.make_node("Mul", ["a", "two"], ["y"], "m")],
     2 * np.maximum(X.astype(np.float16).astype(np.float32), 0)),
])
def test_a_model_computes_what_the_operator_says(folder, nodes, wanted, opset):
    path = converted(folder, nodes, {"x": [48, 64], "z": [48, 64]}, opset=opset)
    (found,) = Session(path).run({"x": X, "z": Y})
    assert found.dtype == np.float32 and found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_the_om_needs_no_file_of_the_author(folder, monkeypatch):
    path = converted(folder, [own("Spread", "x", "y")], {"x": [48, 64]})
    monkeypatch.delenv(custom_opp.VARIABLE)
    assert Session(path).run({"x": X})[0].shape == (48, 64)
    assert [f.domain for f in __import__("onnx").load(path).functions] == ["ai.npu"]


def test_a_kernel_costs_what_its_schedule_says(folder):
    chip = find("Ascend910B3")
    (k,) = om.load(converted(folder, [own("Slow", "x", "y")], {"x": [48, 64]})).kernels
    x = tbe.placeholder((48, 64), "x", "float32")
    out = tbe.dsl.vrelu(tbe.dsl.cast_to(tbe.dsl.cast_to(x, "float16"), "float32"))
    alone = tbe.build(tbe.create_schedule(out), chip=chip)
    assert (k.op_type, k.work.form) == ("Slow", "scheduled")
    # 3072 elements, three operations, 34 cycles each on the scalar unit of one core, at the chip's clock
    assert kernel(k.work, chip).duration == alone.cost.duration == round(1050 + 3 * 3072 * 34 / chip.cube_mhz * 1000)
    made = om.load(converted(folder, [own("Spread", "x", "y")], {"x": [48, 64]})).kernels[0]
    assert kernel(made.work, chip).duration < alone.cost.duration


def test_fp16_models_are_planned_in_fp16(folder):
    path = converted(folder, [own("Blend", "x z", "y")], {"x": [48, 64], "z": [48, 64]}, precision_mode="force_fp16")
    blend = next(k for k in om.load(path).kernels if k.op_type == "Blend")
    assert blend.in_dtypes == "FLOAT16;FLOAT16" and blend.work.dtype == "float16"
    np.testing.assert_allclose(Session(path).run({"x": X, "z": Y})[0], (X + Y) / 2, rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize("node, code, part", [
    (own("Nothing", "x", "y"), "E19010", "test.ops::1::Nothing"),
    (own("Blend", "x", "y"), "E10041", "Blend"),
    (own("Blend", "x z", "y", colour=1), "E10041", "colour"),
    (own("Product", "x x2", "y"), "E19999", "matmul"),
    (own("Spread", "v", "y"), "E19999", "Spread"),
])
def test_what_does_not_fit_is_refused_by_name(folder, node, code, part):
    with pytest.raises(AtcError) as refused:
        converted(folder, [node], {"x": [48, 64], "z": [48, 64], "x2": [48, 63], "v": [48]})
    assert refused.value.code == code and part in " ".join([refused.value.message, *refused.value.more])


def test_mode_3_knows_them(folder):
    with pytest.raises(AtcError):
        converted(folder, [own("Spread", "x", "a"), own("Nothing", "a", "y")], {"x": [48, 64]})
    assert [row["result"] for row in result(folder / "m.onnx", 20)["op"]] == ["success", "failed"]


def test_open_shapes_are_refused(folder):
    with pytest.raises(AtcError) as refused:
        converted(folder, [own("Spread", "x", "y")], {"x": ["n", 64]}, input_shape="x:-1,64")
    assert "input_shape" in " ".join([refused.value.message, *refused.value.more])


def test_a_file_that_cannot_be_run_is_named(folder):
    bad = folder / "opp" / custom_opp.PLACE / "my_impl" / "bad.py"
    bad.write_text("import nothing_of_that_name\n")
    with pytest.raises(AtcError) as refused:
        converted(folder, [own("Spread", "x", "y")], {"x": [48, 64]})
    assert "bad.py" in refused.value.message and "nothing_of_that_name" in refused.value.message


def test_an_operator_that_gives_no_tensor_is_refused():
    made = custom_opp.Operator("Odd", DOMAIN, lambda x: 3, ("x",), {})
    with pytest.raises(tbe.TbeError, match="Odd gives int"):
        made.made([((4, 4), "float16")], {})
    with pytest.raises(tbe.TbeError, match="ZeroDivisionError"):
        custom_opp.Operator("Odd", DOMAIN, lambda x: 1 / 0, ("x",), {}).made([((4, 4), "float16")], {})
