"""Large weights beside the graph: read without the parser, carried as arrays, rounded by their bits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import ModelProto, TensorProto, numpy_helper

from npu.graph import light_file, weights
from npu.graph.errors import AtcError
from npu.graph.onnx_file import read
from npu.graph.parse import read_checked
from npu.graph.precision import rounded_array
from tests.made_onnx import ORIGIN, convert, model, node

BIG = np.arange(8192, dtype=np.float32).reshape(64, 128)  # 32 KiB, more than LARGE
SMALL = np.arange(64, dtype=np.int64)


def net(**constants: Any) -> ModelProto:
    return model([node("MatMul", "x w", "y")], "y", {"w": BIG, **constants}, {"x": [1, 64]})


def written(folder: Path, proto: ModelProto) -> Path:
    (folder / "net.onnx").write_bytes(proto.SerializeToString())
    return folder / "net.onnx"


def test_only_the_data_of_large_weights_is_cut_out(tmp_path: Path) -> None:
    path = written(tmp_path, net(s=SMALL))
    data, cut = light_file.split(path)
    assert path.stat().st_size - len(data) == pytest.approx(BIG.nbytes, abs=16)
    left = {t.name: t for t in ModelProto.FromString(data).graph.initializer}
    assert not left["w"].HasField("raw_data") and list(left["w"].dims) == [64, 128] and left["w"].data_type == TensorProto.FLOAT
    np.testing.assert_array_equal(numpy_helper.to_array(left["s"]), SMALL)
    np.testing.assert_array_equal(cut["w"], BIG)
    assert list(cut) == ["w"]


def test_the_rest_of_the_model_stays_as_it_is(tmp_path: Path) -> None:
    whole = net(s=SMALL)
    whole.metadata_props.add(key="author", value="me")
    large: weights.Weights = {}
    light = read(written(tmp_path, whole), large)
    light.graph.initializer[0].raw_data = large["w"].tobytes()
    assert light == whole


@pytest.mark.parametrize("spoil", [
    lambda t: t.dims.append(2),  # more elements than data
    lambda t: setattr(t, "data_type", TensorProto.BFLOAT16),  # no plain type
    lambda t: setattr(t, "name", ""),
])
def test_what_is_not_plain_is_left_to_the_parser(tmp_path: Path, spoil: Any) -> None:
    proto = net()
    spoil(proto.graph.initializer[0])
    data, cut = light_file.split(written(tmp_path, proto))
    assert not cut and ModelProto.FromString(data) == proto


def test_two_graph_fields_are_left_to_the_parser(tmp_path: Path) -> None:
    """Protobuf joins a field that stands twice: a walk over one of them would see half of the graph."""
    path = written(tmp_path, net())
    path.write_bytes(path.read_bytes() + ModelProto(graph=net(s=SMALL).graph).SerializeToString())
    data, cut = light_file.split(path)
    assert not cut and data == path.read_bytes()


@settings(max_examples=150, deadline=None)
@given(at=st.integers(0, 33_000), byte=st.integers(0, 255), end=st.integers(1, 34_000))
def test_damaged_files_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, at: int, byte: int, end: int) -> None:
    """The light reading says the same as the parser does to the same bytes."""
    whole = bytearray(net(s=SMALL).SerializeToString())
    whole[at % len(whole)] = byte
    path = tmp_path_factory.getbasetemp() / "damaged.onnx"
    path.write_bytes(bytes(whole[:end]))
    large: weights.Weights = {}
    try:
        proto = read(path)
    except AtcError as error:
        with pytest.raises(AtcError) as ours:
            read(path, large)
        assert ours.value.code == error.code
        return
    light = read(path, large)
    for tensor in light.graph.initializer:
        if tensor.name in large:
            tensor.raw_data = large[tensor.name].tobytes()
    assert light.SerializeToString(deterministic=True) == proto.SerializeToString(deterministic=True)


def test_weights_in_constant_nodes_are_set_aside_too(tmp_path: Path) -> None:
    made = node("Constant", "", "w", value=numpy_helper.from_array(BIG, "w"))
    proto = model([made, node("MatMul", "x w", "y")], "y", {}, {"x": [1, 64]})
    source = read_checked(written(tmp_path, proto))
    np.testing.assert_array_equal(source.large["w"], BIG)
    assert not source.proto.graph.initializer[0].raw_data


def test_folding_reads_and_makes_large_weights(tmp_path: Path) -> None:
    """The transposed weight is computed at the conversion: one kernel is left, and the answer is that of the model."""
    nodes = [node("Transpose", "v", "w", perm=[1, 0]), node("MatMul", "x w", "y")]
    summary = convert(model(nodes, "y", {"v": BIG}, {"x": [1, 128]}), tmp_path, **ORIGIN)
    assert [k.op_type for k in summary.model.kernels] == ["MatMulV2"]
    from npu.ops.compute import Session

    x = np.ones((1, 128), np.float32)
    np.testing.assert_array_equal(Session(summary.path).run({"x": x})[0], x @ BIG.T)


def halved(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float16).astype(np.float32)


def test_rounding_by_bits_is_the_conversion_to_half_and_back() -> None:
    """All numbers of half precision, the middles between two of them (ties go to the even one) and their neighbours."""
    half = np.arange(0x7C00, dtype=np.uint16).view(np.float16).astype(np.float64)
    middle = ((half[1:] + half[:-1]) / 2).astype(np.float32)
    for values in (half.astype(np.float32), middle, np.nextafter(middle, np.float32(0)), np.nextafter(middle, np.float32(1e9))):
        for signed in (values, -values):
            np.testing.assert_array_equal(rounded_array(signed, "float16").view(np.uint32), halved(signed).view(np.uint32))


@pytest.mark.parametrize(("value", "becomes"), [(65519.0, 65504.0), (65520.0, 65504.0), (1e9, 65504.0), (-1e9, -65504.0)])
def test_weights_beyond_half_precision_saturate(value: float, becomes: float) -> None:
    array = np.full(8192, 0.1, np.float32)
    array[7000] = value
    found = rounded_array(array, "float16")
    assert found[7000] == becomes and found[0] == np.float32(np.float16(0.1))


def test_infinite_weights_stay_infinite() -> None:
    array = np.full(8192, 1.0, np.float32)
    array[:2] = np.inf, -np.inf
    assert rounded_array(array, "float16")[:3].tolist() == [np.inf, -np.inf, 1.0]


def test_a_weight_nothing_reads_is_not_in_the_file(tmp_path: Path) -> None:
    summary = convert(net(unread=BIG + 1), tmp_path, **ORIGIN)
    import onnx

    assert [t.name for t in onnx.load(str(summary.path)).graph.initializer] == ["w"]
    assert summary.bytes < 2 * BIG.nbytes
