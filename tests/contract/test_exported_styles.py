"""Graphs as exporters write them: converted with fixed shapes, in half precision, open and in gears, and compared with onnxruntime."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from onnx import ModelProto, TensorProto

from npu.ops.compute import Session
from tests.made_onnx import ORIGIN, convert, expected, model, node

RNG = np.random.default_rng(12)
INT64 = TensorProto.INT64
pytestmark = pytest.mark.slow


def weight(*dims: int) -> np.ndarray:
    return (RNG.normal(size=dims) * 0.3).astype(np.float32)


class Style(NamedTuple):
    """sizes: of the open dims, by their names in the model; other: sizes of a second gear."""

    made: ModelProto
    sizes: dict[str, int]
    other: dict[str, int]


def decoder_with_cache() -> Style:
    """Keys and values of earlier steps come in and go out; the causal mask is cut out of a triangle with computed ends."""
    nodes = [
        node("MatMul", "x wq", "q"), node("MatMul", "x wk", "k0"), node("MatMul", "x wv", "v0"),
        node("Concat", "pk k0", "k", axis=1), node("Concat", "pv v0", "v", axis=1),
        node("Transpose", "k", "kt", perm=[0, 2, 1]), node("MatMul", "q kt", "s"), node("Mul", "s scale", "ss"),
        node("Shape", "k", "ks"), node("Gather", "ks one", "n"), node("Shape", "x", "xs"), node("Gather", "xs one", "t"),
        node("Sub", "n t", "p"), node("Unsqueeze", "p zero1", "pu"), node("Unsqueeze", "n zero1", "nu"),
        node("Concat", "nu nu", "square", axis=0), node("ConstantOfShape", "square", "flat"), node("Add", "flat onef", "ones"),
        node("Trilu", "ones", "tri", upper=0), node("Slice", "tri pu nu zero1", "rows"), node("Cast", "rows", "seen", to=9),
        node("Where", "seen ss far", "masked"), node("Add", "masked mask", "m2"), node("Softmax", "m2", "a", axis=-1),
        node("MatMul", "a v", "y"),
    ]  # fmt: skip
    constants = {
        **{n: weight(16, 16) for n in ("wq", "wk", "wv")}, "scale": np.float32(0.25), "one": np.int64(1), "zero1": np.int64([0]),
        "onef": np.float32(1), "far": np.float32(-10000),
    }  # fmt: skip
    inputs = {"x": ["b", "s", 16], "pk": ["b", "p", 16], "pv": ["b", "p", 16], "mask": ["b", 1, "all"]}
    made = model(nodes, "y k v", constants, inputs, opset=14)
    return Style(made, {"b": 1, "s": 3, "p": 4, "all": 7}, {"b": 2, "s": 2, "p": 2, "all": 4})


def quantised_network() -> Style:
    """QDQ pairs around convolutions and a residual connection, weights per channel."""
    def pair(value: str, scale: str) -> list[Any]:
        return [node("QuantizeLinear", f"{value} {scale} z", f"{value}_q"), node("DequantizeLinear", f"{value}_q {scale} z", f"{value}_d")]

    nodes = [
        *pair("x", "s1"), node("DequantizeLinear", "w ws wz", "wd", axis=0), node("Conv", "x_d wd b", "c", pads=[1, 1, 1, 1]),
        node("Relu", "c", "r"), *pair("r", "s2"), node("DequantizeLinear", "dw ws wz", "dwd", axis=0),
        node("Conv", "r_d dwd", "d", pads=[1, 1, 1, 1], group=8), *pair("d", "s2"), node("Add", "d_d r_d", "a"), *pair("a", "s2"),
        node("GlobalAveragePool", "a_d", "g"), node("Flatten", "g", "f"), node("Gemm", "f fc fb", "y"),
    ]  # fmt: skip
    constants = {
        "s1": np.float32(0.02), "s2": np.float32(0.05), "z": np.uint8(128), "ws": np.full(8, 0.01, np.float32),
        "wz": np.zeros(8, np.int8), "w": RNG.integers(-90, 90, (8, 3, 3, 3)).astype(np.int8), "b": weight(8),
        "dw": RNG.integers(-90, 90, (8, 1, 3, 3)).astype(np.int8), "fc": weight(8, 10), "fb": weight(10),
    }  # fmt: skip
    return Style(model(nodes, "y", constants, {"x": ["n", 3, 8, 8]}), {"n": 2}, {"n": 4})


def channels_last_network() -> Style:
    """As tf2onnx writes: planes last at the borders, padding apart, a batch dim carried through Shape, Slice and Concat."""
    nodes = [
        node("Transpose", "x", "t", perm=[0, 3, 1, 2]), node("Pad", "t around", "p"), node("Conv", "p w", "c", strides=[2, 2]),
        node("BatchNormalization", "c g b m v", "n", epsilon=1e-3), node("Clip", "n low high", "r"),
        node("Transpose", "r", "u", perm=[0, 2, 3, 1]), node("ReduceMean", "u", "a", axes=[1, 2], keepdims=0),
        node("MatMul", "a f", "l"), node("Add", "l fb", "y0"), node("Softmax", "y0", "y1", axis=-1), node("Shape", "x", "s"),
        node("Cast", "s", "si", to=6), node("Slice", "si from to", "batch"), node("Cast", "batch", "bi", to=7),
        node("Concat", "bi rest", "dims", axis=0), node("Reshape", "y1 dims", "y"),
    ]  # fmt: skip
    constants = {
        "around": np.int64([0, 0, 0, 0, 0, 0, 1, 1]), "w": weight(8, 3, 3, 3), "g": weight(8) + 1, "b": weight(8), "m": weight(8),
        "v": weight(8) ** 2 + 0.5, "low": np.float32(0), "high": np.float32(6), "f": weight(8, 10), "fb": weight(10),
        "from": np.int64([0]), "to": np.int64([1]), "rest": np.int64([5, 2]),
    }  # fmt: skip
    return Style(model(nodes, "y", constants, {"x": ["unk__1", 9, 9, 3]}), {"unk__1": 1}, {"unk__1": 3})


def detection_head() -> Style:
    """Boxes through NonMaxSuppression: how many come out, the data decide."""
    nodes = [
        node("Conv", "x w", "c"), node("Reshape", "c rows", "r"), node("Split", "r", "box score", axis=2, split=[4, 3]),
        node("Transpose", "score", "st", perm=[0, 2, 1]), node("NonMaxSuppression", "box st most iou least", "chosen"),
        node("Slice", "chosen two three one1", "column"), node("Squeeze", "column", "at", axes=[1]),
        node("Gather", "box at", "y", axis=1),
    ]  # fmt: skip
    constants = {
        "w": weight(7, 3, 1, 1), "rows": np.int64([1, -1, 7]), "most": np.int64([5]), "iou": np.float32([0.5]),
        "least": np.float32([0.1]), "two": np.int64([2]), "three": np.int64([3]), "one1": np.int64([1]),
    }  # fmt: skip
    return Style(model(nodes, "y", constants, {"x": [1, 3, 8, 8]}, opset=11), {}, {})


STYLES = {f.__name__: f for f in (decoder_with_cache, quantised_network, channels_last_network, detection_head)}


def shapes(made: ModelProto, sizes: dict[str, int]) -> dict[str, tuple[int, ...]]:
    return {v.name: tuple(sizes.get(d.dim_param, d.dim_value) for d in v.type.tensor_type.shape.dim) for v in made.graph.input}


def text(dims: dict[str, tuple[int, ...]]) -> str:
    return ";".join(f"{n}:{','.join(map(str, d))}" for n, d in dims.items())


@pytest.mark.parametrize("form", ["fixed", "half", "open", "gears"])
@pytest.mark.parametrize("name", STYLES)
def test_it_says_what_onnxruntime_says(tmp_path: Path, name: str, form: str) -> None:
    made, sizes, other = STYLES[name]()
    if not sizes and form in ("open", "gears"):
        pytest.skip("every shape is fixed")
    fixed, opened = shapes(made, sizes), shapes(made, dict.fromkeys(sizes, -1))
    flags = {} if form == "half" else dict(ORIGIN)
    flags |= {"input_shape": text(opened if form in ("open", "gears") else fixed)} if sizes else {}
    if form == "gears":
        both = [[d for n, dims in shapes(made, s).items() for d, o in zip(dims, opened[n], strict=True) if o < 0] for s in (sizes, other)]
        flags |= {"dynamic_dims": ";".join(",".join(map(str, g)) for g in both), "input_format": "ND"}
    summary = convert(made, tmp_path, **flags)
    feeds = {n: RNG.normal(size=d).astype(np.float32) for n, d in fixed.items()}
    tolerance = 3e-2 if form == "half" else 1e-4
    for ours, theirs in zip(Session(summary.path).run(feeds), expected(made, feeds), strict=True):
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance * max(1.0, abs(theirs).max(initial=0)))
