"""Models that users really give to atc and that cannot be converted: each refused by its cause, with what to do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from npu.graph.errors import AtcError
from npu.graph.onnx_file import read
from npu.graph.parse import parse, read_checked
from npu.graph.shapes import judge

X, Y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, 3, 8, 8]) for n in "xy")


def saved(folder: Path, node: Any, weights: dict[str, Any] | None = None, opset: int = 11) -> Path:
    graph = helper.make_graph([node], "g", [X], [Y], [numpy_helper.from_array(v, k) for k, v in (weights or {}).items()])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    path = folder / "net.onnx"
    path.write_bytes(made.SerializeToString())
    return path


def refused(path: Path) -> tuple[str, str]:
    """Code and further lines of the refusal; judged as in a conversion."""
    with pytest.raises(AtcError) as error:
        judge(parse(read_checked(path), {}).proto)
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
        judge(parse(read_checked(path), {}).proto)
        return
    code, said = refused(path)
    assert code == "E19999" and f"Reshape flat: 192 elements of shape [1, 3, 8, 8] do not go into shape {target}" in said


def test_inputs_of_one_operator_have_one_type(tmp_path: Path) -> None:
    code, said = refused(saved(tmp_path, helper.make_node("Add", ["x", "w"], ["y"], name="add"), {"w": np.ones(8, np.int64)}))
    assert code == "E19999" and "x is FLOAT, w is INT64" in said
    power = helper.make_node("Pow", ["x", "w"], ["y"], name="pow")  # its exponent may have a type of its own
    judge(parse(read_checked(saved(tmp_path, power, {"w": np.ones(8, np.int64)}, opset=13)), {}).proto)


def test_an_unknown_input_name_lists_those_there_are(tmp_path: Path) -> None:
    path = saved(tmp_path, helper.make_node("Relu", ["x"], ["y"]))
    with pytest.raises(AtcError) as error:
        parse(read_checked(path), {"input": (1, 3, 8, 8)})
    assert error.value.code == "E10016" and error.value.more == ("Inputs of the model: x.",)


def relu(folder: Path, **attributes: Any) -> Any:
    path = saved(folder, helper.make_node("Relu", ["x"], ["y"], name="act", **attributes))
    return path, read(path)


def test_two_versions_of_the_default_operators(tmp_path: Path) -> None:
    path, proto = relu(tmp_path)
    proto.opset_import.add(domain="ai.onnx", version=13)
    path.write_bytes(proto.SerializeToString())
    code, said = refused(path)
    assert code == "E16005" and "opset 11, opset 13" in said


def test_the_same_version_twice_is_no_contradiction(tmp_path: Path) -> None:
    path, proto = relu(tmp_path)
    proto.opset_import.add(domain="ai.onnx", version=11)
    path.write_bytes(proto.SerializeToString())
    read_checked(path)


@pytest.mark.parametrize(("spoil", "said"), [
    (lambda t: setattr(t, "raw_data", t.raw_data[:100]), "float32 [8, 5], needs 160 bytes, the file holds 100."),
    (lambda t: setattr(t, "raw_data", t.raw_data * 2), "float32 [8, 5], needs 160 bytes, the file holds 320."),
    (lambda t: (t.ClearField("raw_data"), t.float_data.extend([1.0] * 39)), "float32 [8, 5], needs 40 values, the file holds 39."),
    (lambda t: t.ClearField("raw_data"), "needs 40 values, the file holds 0."),
])  # fmt: skip
def test_a_weight_with_other_data_than_its_shape_says(tmp_path: Path, spoil: Any, said: str) -> None:
    path = saved(tmp_path, helper.make_node("MatMul", ["x", "w"], ["y"], name="mm"), {"w": np.ones((8, 5), np.float32)})
    proto = read(path)
    spoil(proto.graph.initializer[0])
    path.write_bytes(proto.SerializeToString())
    code, told = refused(path)
    assert code == "E10041" and told.startswith("The weight w, float32 [8, 5],") and told.endswith(said)


def test_a_large_weight_whose_data_was_cut_out_is_judged_too(tmp_path: Path) -> None:
    path = saved(tmp_path, helper.make_node("MatMul", ["x", "w"], ["y"], name="mm"), {"w": np.ones((8, 900), np.float32)})
    proto = read(path)
    proto.graph.initializer[0].raw_data = proto.graph.initializer[0].raw_data[:-4]
    path.write_bytes(proto.SerializeToString())
    assert refused(path)[0] == "E10041"


def test_packed_integers_are_counted_by_their_bits(tmp_path: Path) -> None:
    path, proto = relu(tmp_path)
    proto.graph.initializer.add(name="q", data_type=TensorProto.INT4, dims=[5], raw_data=bytes(3))
    path.write_bytes(proto.SerializeToString())
    read_checked(path)


def test_a_wrong_attribute_is_told_with_its_node(tmp_path: Path) -> None:
    code, said = refused(relu(tmp_path, colour=3)[0])
    assert code == "E10041" and said.startswith("Node act (Relu): ") and "colour" in said


def test_weights_outside_the_folder_of_the_model(tmp_path: Path) -> None:
    path, proto = relu(tmp_path)
    tensor = proto.graph.initializer.add(name="w", data_type=1, dims=[4], data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="../weights.bin")
    path.write_bytes(proto.SerializeToString())
    code, said = refused(path)
    assert code == "E10041" and "must lie in the model's folder" in said


@pytest.mark.parametrize(("size", "fits"), [(1, False), (2, False), (3, True)])
def test_a_window_larger_than_the_picture(tmp_path: Path, size: int, fits: bool) -> None:
    pool = helper.make_node("MaxPool", ["x"], ["y"], name="pool", kernel_shape=[3, 3])
    path = saved(tmp_path, pool)
    shapes = {"x": (1, 3, 8, size)}
    if fits:
        judge(parse(read_checked(path), shapes).proto)
        return
    with pytest.raises(AtcError) as error:
        judge(parse(read_checked(path), shapes).proto)
    said = f"MaxPool pool: its window does not fit into the input of shape [1, 3, 8, {size}]"
    assert error.value.code == "E19999" and said in error.value.more[0]
