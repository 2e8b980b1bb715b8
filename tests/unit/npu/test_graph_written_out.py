"""LayerNormalization before operator set 17 and SimplifiedLayerNormalization, as onnxruntime's optimiser writes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto

from npu.graph.errors import AtcError
from npu.graph.precheck import result
from npu.ops.compute import Session
from tests.made_onnx import ORIGIN, convert, expected, model, node

X = np.random.default_rng(5).normal(2, 3, (2, 5, 8)).astype(np.float32)
SCALE = {"g": np.linspace(0.5, 2, 8, dtype=np.float32), "b": np.linspace(-1, 1, 8, dtype=np.float32)}
LAYER, SIMPLIFIED = "LayerNormalization", "SimplifiedLayerNormalization"


def agrees(made: Any, folder: Path, x: np.ndarray = X, **tolerance: float) -> list[str]:
    """The operator types of the kernels, after a comparison with onnxruntime on the original."""
    summary = convert(made, folder, **ORIGIN)
    for ours, theirs in zip(Session(summary.path).run({"x": x}), expected(made, {"x": x}), strict=True):
        np.testing.assert_allclose(ours.astype(np.float64), theirs.astype(np.float64), **{"rtol": 1e-5, "atol": 1e-6, **tolerance})
    return [k.op_type for k in summary.model.kernels]


@pytest.mark.parametrize("opset", [9, 11, 16])
def test_a_layer_normalisation_of_an_old_operator_set_is_one_kernel(tmp_path: Path, opset: int) -> None:
    made = model([node(LAYER, "x g b", "y", axis=-1, epsilon=1e-6)], "y", SCALE, {"x": [2, 5, 8]}, opset=opset)
    assert agrees(made, tmp_path) == ["LayerNorm"]


@pytest.mark.parametrize("opset", [11, 17, 20])
def test_a_simplified_one_is_one_kernel_in_every_operator_set(tmp_path: Path, opset: int) -> None:
    made = model([node(SIMPLIFIED, "x g", "y", axis=-1)], "y", SCALE, {"x": [2, 5, 8]}, opset=opset)
    assert agrees(made, tmp_path) == ["RmsNorm"]


def test_over_several_axes_it_runs_as_it_is_written_out(tmp_path: Path) -> None:
    """axis 1 of three: mean over 5 x 8 values; no pass makes one kernel of that."""
    scale = {"g": np.ones((5, 8), np.float32) * 2}
    kernels = agrees(model([node(LAYER, "x g", "y", axis=1)], "y", scale, {"x": [2, 5, 8]}, opset=12), tmp_path)
    assert "LayerNorm" not in kernels and kernels.count("ReduceMeanD") + kernels.count("ReduceMean") == 2


def test_mean_and_deviation_can_be_read(tmp_path: Path) -> None:
    made = model([node(LAYER, "x g b", "y m d", axis=-1)], "y m d", SCALE, {"x": [2, 5, 8]}, opset=13)
    agrees(made, tmp_path)


def test_half_precision_is_widened_inside(tmp_path: Path) -> None:
    """The squares of 300 are beyond half precision; float32 holds them."""
    scale = {n: v.astype(np.float16) for n, v in SCALE.items()}
    kinds = {"x": TensorProto.FLOAT16, "y": TensorProto.FLOAT16}
    made = model([node(SIMPLIFIED, "x g", "y", axis=-1)], "y", scale, {"x": [2, 5, 8]}, opset=14, types=kinds)
    agrees(made, tmp_path, (X * 300).astype(np.float16), rtol=2e-3)


def test_a_factor_per_group(tmp_path: Path) -> None:
    """GroupNormalization of operator set 18: two groups of four of the eight channels."""
    scale = {"g": np.array([2, 3], np.float32), "b": np.array([-1, 1], np.float32)}
    made = model([node("GroupNormalization", "x g b", "y", num_groups=2)], "y", scale, {"x": [2, 8, 5]}, opset=18)
    agrees(made, tmp_path, X.reshape(2, 8, 5))


def test_the_check_of_operators_knows_them(tmp_path: Path) -> None:
    made = model([node(SIMPLIFIED, "x g", "y", axis=-1)], "y", SCALE, {"x": [2, 5, 8]}, opset=14)
    (tmp_path / "m.onnx").write_bytes(made.SerializeToString())
    assert result(tmp_path / "m.onnx", 20)["result"] == "success"


def test_one_whose_scale_is_computed_is_refused_by_name(tmp_path: Path) -> None:
    """Without the rank of the scale nobody knows over how many axes the mean goes."""
    nodes = [node("Relu", "g", "s"), node(LAYER, "x s b", "y", axis=2)]
    with pytest.raises(AtcError) as error:
        convert(model(nodes, "y", SCALE, {"x": [2, 5, 8]}, opset=12), tmp_path)
    assert error.value.code == "E19010" and error.value.arguments["opname"] == "LayerNormalization_y"
