"""The sizes that stand for open dims while a model is planned."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from onnx import TensorProto, helper

from npu.graph.samples import samples
from npu.ops.compute import Session
from tests.made_onnx import ORIGIN, convert, model, node


def graph(**shapes: list[object]) -> object:
    return helper.make_graph([], "g", [helper.make_tensor_value_info(n, TensorProto.FLOAT, d) for n, d in shapes.items()], [])


def test_dims_of_one_name_have_one_size() -> None:
    found = list(samples({"x": (-1, 4), "y": (-1, -1)}, {}, graph(x=["n", 4], y=["n", "t"])))
    assert [(f["x"], f["y"]) for f in found] == [
        ((32, 4), (32, 32)), ((64, 4), (64, 32)), ((1, 4), (1, 32)), ((32, 4), (32, 64)), ((32, 4), (32, 1))]


def test_ranges_give_their_ends() -> None:
    found = list(samples({"x": (-1, -1)}, {("x", 0): (1, 8), ("x", 1): (5, 5)}, graph(x=[None, None])))
    assert [f["x"] for f in found] == [(8, 5), (1, 5)]


def test_past_and_new_together_are_found(tmp_path: Path) -> None:
    """The mask is as long as past and new together: 64 where those are 32 each."""
    nodes = [node("Concat", "past new", "all", axis=1), node("Add", "all mask", "y")]
    made = model(nodes, "y", {}, {"past": ["b", "p"], "new": ["b", "s"], "mask": ["b", "t"]})
    summary = convert(made, tmp_path, **ORIGIN, input_shape="past:-1,-1;new:-1,-1;mask:-1,-1")
    assert summary.model.planned == {"past": (32, 32), "new": (32, 32), "mask": (32, 64)}
    feeds = {"past": np.ones((1, 3), np.float32), "new": np.zeros((1, 2), np.float32), "mask": np.ones((1, 5), np.float32)}
    assert Session(summary.path).run(feeds)[0].tolist() == [[2, 2, 2, 1, 1]]
