"""Recurrent layers: one kernel for all steps. The products of the steps are the work, the gates its epilogue."""

from __future__ import annotations

from npu.cost.work import Work
from npu.ops.kernel import aicpu, compute_type, read_bytes, write_bytes
from npu.ops.node import Lower, Lowered, Node

GATES = {"LSTM": ("DynamicRNN", 4), "GRU": ("DynamicGRUV2", 3), "RNN": ("CommonRNN", 1)}


def recurrent(node: Node) -> Lowered:
    """Per step and direction [batch, input + hidden] x [input + hidden, gates * hidden]."""
    name, gates = GATES[node.op_type]
    data, weight = node.inputs[0], node.inputs[1]
    if data is None or weight is None or len(data.dims) != 3 or len(weight.dims) != 3:
        return aicpu(node, name)
    steps, batch = data.dims[:2] if not node.number("layout", 0) else (data.dims[1], data.dims[0])
    hidden = node.number("hidden_size", max(weight.dims[1] // gates, 1))
    directions = max(weight.dims[0], 1)
    steps, batch = max(steps, 1), max(batch, 1)
    dims = (steps * directions, batch, gates * hidden, max(data.dims[2], 1) + hidden)
    gate_elements = steps * directions * batch * gates * hidden
    work = Work("matmul", name, compute_type(node), dims, read_bytes(node), write_bytes(node), gate_elements)
    return Lowered(name, work, scratch=int(batch * gates * hidden * data.element_bytes))


OPS: dict[str, Lower] = dict.fromkeys(GATES, recurrent)
