"""Activations: vector kernels, and what convolutions and products take along as an epilogue."""

from __future__ import annotations

from npu.ops.kernel import vector
from npu.ops.node import Lower, Lowered, Node

NAMES = {
    "Relu": "Relu",
    "LeakyRelu": "LeakyRelu",
    "PRelu": "PRelu",
    "Sigmoid": "Sigmoid",
    "Tanh": "Tanh",
    "Elu": "Elu",
    "Selu": "Selu",
    "Celu": "CeluV2",
    "HardSigmoid": "HardSigmoid",
    "HardSwish": "HardSwish",
    "Softplus": "SoftplusV2",
    "Softsign": "Softsign",
    "Gelu": "Gelu",
    "Mish": "Mish",
    "Swish": "Swish",
    "SwiGLU": "SwiGlu",
    "ThresholdedRelu": "ThresholdedRelu",
    "Shrink": "Shrink",
}


def activation(node: Node) -> Lowered:
    return vector(node, NAMES[node.op_type])


OPS: dict[str, Lower] = dict.fromkeys(NAMES, activation)
