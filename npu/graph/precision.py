"""force_fp16 in arithmetic: the graph stays float32, and every kernel's result is rounded to half precision and back.

Inside a kernel float32 stands, as the cube unit accumulates. onnxruntime keeps the two Casts; a graph converted to float16 it
would compute in float32 throughout. Weights are rounded once, and saturate at 65,504 as the converter does; results overflow to
infinity as on the device.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from npu.graph.walk import rename

FLOAT, HALF = 1, 10  # TensorProto.DataType
LARGEST = 65504.0
# operator -> inputs that hold sizes or positions and stay as they are
SIZES = {
    "Resize": (1, 2, 3),
    "Upsample": (1,),
    "Range": (0, 1, 2),
    "RoiAlign": (1,),
    "NonMaxSuppression": (3, 4),
    "QuantizeLinear": (1,),
    "DequantizeLinear": (1,),
}


def exact_names(nodes: Iterable[Any]) -> set[str]:
    """Values that hold sizes or positions: they keep full precision."""
    return {node.input[at] for node in nodes for at in SIZES.get(node.op_type, ()) if at < len(node.input) and node.input[at]}


def round_weights(initializers: Iterable[Any], exact: set[str]) -> None:
    """Round float32 weights to half precision in place."""
    import numpy as np
    from onnx import numpy_helper

    for tensor in initializers:
        if tensor.data_type != FLOAT or tensor.name in exact:
            continue
        array = numpy_helper.to_array(tensor)
        finite = np.where(np.isfinite(array), np.clip(array, -LARGEST, LARGEST), array)
        rounded = numpy_helper.from_array(finite.astype(np.float16).astype(np.float32), tensor.name)
        tensor.CopyFrom(rounded)


def round_inputs(graph: Any, nodes: Sequence[Any], exact: set[str]) -> list[Any]:
    """The nodes with each float32 input of the model rounded before its readers."""
    first: list[Any] = []
    for value in graph.input:
        if value.type.tensor_type.elem_type != FLOAT or value.name in exact:
            continue
        rounded = value.name + "/rounded"
        holder = type(graph)()
        holder.node.extend(nodes)
        rename(holder, value.name, rounded)
        nodes = list(holder.node)
        first += _pair(value.name, rounded)
    return [*first, *nodes]


def round_results(node: Any, names: Iterable[str]) -> list[Any]:
    """The node followed by the rounding of those of its outputs."""
    after: list[Any] = []
    for at, name in enumerate(node.output):
        if name in names:
            node.output[at] = name + "/exact"
            after += _pair(name + "/exact", name)
    return [node, *after]


def _pair(source: str, target: str) -> list[Any]:
    from onnx import helper

    half = target + "/half"
    return [
        helper.make_node("Cast", [source], [half], name=f"{target}/to_half", to=HALF),
        helper.make_node("Cast", [half], [target], name=f"{target}/to_float", to=FLOAT),
    ]
