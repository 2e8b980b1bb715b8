"""Operators on stored integers: vector and row kernels in int8, and the quantised LSTM."""

from __future__ import annotations

from math import prod

from npu.cost.work import Work
from npu.ops.kernel import aicpu, biggest, layout, read_bytes, row, vector, write_bytes
from npu.ops.node import Lower, Lowered, Node

VECTOR = {
    "QLinearAdd": "Add",
    "QLinearMul": "Mul",
    "QLinearSigmoid": "Sigmoid",
    "QLinearLeakyRelu": "LeakyRelu",
    "QuantizeLinear": "AscendQuant",
    "DequantizeLinear": "AscendAntiQuant",
}
ROWS = {
    "QLinearSoftmax": "SoftmaxV2",
    "QLinearGlobalAveragePool": "GlobalAveragePool",
    "QLinearAveragePool": "AvgPoolV2",
    "NhwcMaxPool": "MaxPool",
}
GATES = 4  # of an LSTM


def element(node: Node) -> Lowered:
    return vector(node, VECTOR[node.op_type])


def rows(node: Node) -> Lowered:
    """A global pool has one row for each result; a softmax and a pool along windows keep all but the last axis."""
    out = node.outputs[0]
    whole = node.op_type == "QLinearGlobalAveragePool"
    return row(node, ROWS[node.op_type], out.elements if whole else prod(max(d, 1) for d in out.dims[:-1]))


def where(node: Node) -> Lowered:
    """Both branches are rescaled, so it counts as arithmetic on them, not as a move of the condition."""
    dtype = node.outputs[0].dtype
    return Lowered("SelectV2", Work("vector", "SelectV2", dtype, (biggest(node), 1), read_bytes(node), write_bytes(node)))


def concat(node: Node) -> Lowered:
    made = layout(node, "ConcatD")
    stored = node.outputs[0]
    work = Work("layout", "ConcatD", stored.dtype, (stored.elements, 1), stored.bytes, stored.bytes)
    return Lowered(made.op_type, work)


def lstm(node: Node) -> Lowered:
    """As DynamicRNN, with int8 weights [directions, input, 4 * hidden] and [directions, hidden, 4 * hidden]."""
    data, again = node.inputs[0], node.inputs[2]
    if data is None or again is None or len(data.dims) != 3 or len(again.dims) != 3:
        return aicpu(node, "DynamicRNN")
    steps, batch, width = (max(d, 1) for d in data.dims)
    directions, hidden, gates = (max(d, 1) for d in again.dims)
    dims = (steps * directions, batch, gates, width + hidden)
    work = Work("matmul", "DynamicRNN", "int8", dims, read_bytes(node), write_bytes(node), steps * directions * batch * gates)
    return Lowered("DynamicRNN", work, scratch=batch * gates * GATES)


OPS: dict[str, Lower] = {
    **dict.fromkeys(VECTOR, element),
    **dict.fromkeys(ROWS, rows),
    "QLinearWhere": where,
    "QLinearConcat": concat,
    "DynamicQuantizeLSTM": lstm,
}
