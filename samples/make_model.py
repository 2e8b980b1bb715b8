"""Write a small convolutional network as ONNX, for the samples that need a model of a certain weight.

usage: make_model.py OUTPUT.onnx LAYERS SIDE CHANNELS [COLOURS [PATCH]]
"""

import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save


def network(layers, side, channels, colours=3, patch=1):
    """LAYERS convolutions of 3x3 with ReLU on a picture of SIDE x SIDE, CHANNELS wide, and the mean of each channel. With a
    patch the picture is that many times as large, and the first convolution makes one value of each patch."""
    rng = np.random.default_rng(0)
    nodes, weights, inputs = [], [], colours
    name = "x"
    for number in range(layers):
        size, how = (patch, {"strides": [patch, patch]}) if patch > 1 and not number else (3, {"pads": [1, 1, 1, 1]})
        kernel = rng.normal(size=(channels, inputs, size, size)).astype(np.float32) / (size * inputs**0.5)
        weights.append(numpy_helper.from_array(kernel, f"weight{number}"))
        made = f"a{number}"
        nodes.append(helper.make_node("Conv", [name, f"weight{number}"], [f"c{number}"], f"conv{number}", **how))
        nodes.append(helper.make_node("Relu", [f"c{number}"], [made], f"relu{number}"))
        name, inputs = made, channels
    nodes.append(helper.make_node("GlobalAveragePool", [name], ["y"], "mean"))
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, colours, side * patch, side * patch])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, channels, 1, 1])],
        weights,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


if __name__ == "__main__":
    if len(sys.argv) not in (5, 6, 7):
        raise SystemExit(__doc__)
    save(network(*map(int, sys.argv[2:])), sys.argv[1])
