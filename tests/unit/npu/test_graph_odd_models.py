"""Models that users really give to atc and that cannot be converted: each refused by its cause, with what to do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from npu.graph.errors import AtcError
from npu.graph.parse import parse, read, read_checked
from npu.graph.shapes import infer

X, Y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, 3, 8, 8]) for n in "xy")


def saved(folder: Path, node: Any, weights: dict[str, Any] | None = None, opset: int = 11) -> Path:
    graph = helper.make_graph([node], "g", [X], [Y], [numpy_helper.from_array(v, k) for k, v in (weights or {}).items()])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    path = folder / "net.onnx"
    path.write_bytes(made.SerializeToString())
    return path


def refused(path: Path) -> tuple[str, str]:
    """Code and further lines of the refusal; inference is strict, as the conversion's last one is."""
    with pytest.raises(AtcError) as error:
        infer(parse(read_checked(path), {}).proto, strict=True)
    return error.value.code, " ".join(error.value.more)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "empty (0 bytes)"),
        (b"PK\x03\x04" + bytes(100), "torch.onnx.export"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 1\n", "git lfs pull"),
        (b"<!DOCTYPE html><html></html>", "web page"),
    ],
)
def test_a_file_that_is_no_model_is_called_by_its_name(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "net.onnx").write_bytes(content)
    with pytest.raises(AtcError) as error:
        read(tmp_path / "net.onnx")
    assert error.value.code == "E13005" and said in " ".join(error.value.more)


def test_weights_in_a_file_that_is_not_there(tmp_path: Path) -> None:
    path = saved(tmp_path, helper.make_node("Add", ["x", "w"], ["y"]), {"w": np.ones(8, np.float32)})
    proto = read(path)
    tensor = proto.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="weights.bin")
    path.write_bytes(proto.SerializeToString())
    code, said = refused(path)
    assert code == "E10041" and "weights.bin" in said and "beside the model" in said


def test_operators_of_another_opset_name_the_one_that_has_them(tmp_path: Path) -> None:
    code, said = refused(saved(tmp_path, helper.make_node("Gelu", ["x"], ["y"], name="act"), opset=13))
    assert code == "E19010" and "opset 20 and later, the model uses opset 13" in said
    scales = {"s": np.array([1, 1, 2, 2], np.float32)}
    code, said = refused(saved(tmp_path, helper.make_node("Upsample", ["x", "s"], ["y"], name="up"), scales, opset=11))
    assert code == "E19010" and "deprecated since opset 10" in said and "Resize" in said
    read_checked(saved(tmp_path, helper.make_node("Upsample", ["x", "s"], ["y"], name="up"), scales, opset=9))


def test_shapes_that_do_not_fit_are_shown(tmp_path: Path) -> None:
    code, said = refused(saved(tmp_path, helper.make_node("Add", ["x", "w"], ["y"], name="add5"), {"w": np.ones(5, np.float32)}))
    assert code == "E19999" and "Inputs of add5: x [1, 3, 8, 8], w [5]." in said


@pytest.mark.parametrize(("target", "fits"), [([1, 100], False), ([1, 192], True), ([0, -1], True)])
def test_a_reshape_must_keep_the_number_of_elements(tmp_path: Path, target: list[int], fits: bool) -> None:
    path = saved(tmp_path, helper.make_node("Reshape", ["x", "s"], ["y"], name="flat"), {"s": np.array(target, np.int64)})
    if fits:
        infer(parse(read_checked(path), {}).proto, strict=True)
        return
    code, said = refused(path)
    assert code == "E19999" and f"Reshape flat: 192 elements of shape [1, 3, 8, 8] do not go into shape {target}" in said


def test_inputs_of_one_operator_have_one_type(tmp_path: Path) -> None:
    code, said = refused(saved(tmp_path, helper.make_node("Add", ["x", "w"], ["y"], name="add"), {"w": np.ones(8, np.int64)}))
    assert code == "E19999" and "x is FLOAT, w is INT64" in said
    power = helper.make_node("Pow", ["x", "w"], ["y"], name="pow")  # its exponent may have a type of its own
    infer(parse(read_checked(saved(tmp_path, power, {"w": np.ones(8, np.int64)}, opset=13)), {}).proto, strict=True)


def test_an_unknown_input_name_lists_those_there_are(tmp_path: Path) -> None:
    path = saved(tmp_path, helper.make_node("Relu", ["x"], ["y"]))
    with pytest.raises(AtcError) as error:
        parse(read_checked(path), {"input": (1, 3, 8, 8)})
    assert error.value.code == "E10016" and error.value.more == ("Inputs of the model: x.",)
