"""Write a small network: convolution, batch normalisation, relu, pooling, a product; seeded random weights."""

from __future__ import annotations

import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save


def network() -> object:
    rng = np.random.default_rng(1)
    weights = {
        "w": rng.normal(size=(16, 3, 3, 3)) / 5,
        "b": rng.normal(size=16),
        "scale": rng.uniform(0.5, 2, 16),
        "offset": rng.normal(size=16),
        "mean": rng.normal(size=16),
        "var": rng.uniform(0.5, 2, 16),
        "m": rng.normal(size=(16, 10)) / 4,
    }
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], "conv", pads=[1, 1, 1, 1]),
        helper.make_node("BatchNormalization", ["c", "scale", "offset", "mean", "var"], ["n"], "norm"),
        helper.make_node("Relu", ["n"], ["r"], "relu"),
        helper.make_node("GlobalAveragePool", ["r"], ["g"], "pool"),
        helper.make_node("Flatten", ["g"], ["f"], "flat"),
        helper.make_node("MatMul", ["f", "m"], ["y"], "product"),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 32, 32])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 10])
    held = [numpy_helper.from_array(a.astype(np.float32), n) for n, a in weights.items()]
    return helper.make_model(
        helper.make_graph(nodes, "first", [x], [y], held), opset_imports=[helper.make_opsetid("", 13)], ir_version=8
    )


if __name__ == "__main__":
    save(network(), sys.argv[1])
