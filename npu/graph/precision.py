"""Half precision in arithmetic: the graph stays float32, and a kernel's result is rounded to half precision and back.

Inside a kernel float32 stands, as the cube unit accumulates. onnxruntime keeps the two Casts; a graph converted to float16 it
would compute in float32 throughout. Weights are rounded once, and saturate at 65,504 as the converter does; results overflow to
infinity as on the device. Half is float16 or bfloat16, whichever the precision mode names.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

from npu.graph.walk import rename

if TYPE_CHECKING:
    from numpy.typing import NDArray

FLOAT = 1  # TensorProto.DataType
NUMBERS = {"float16": 10, "bfloat16": 16}
LARGEST = 65504.0
ROUNDED = "/rounded"  # behind the name of a value that some kernels read in half precision
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


def rounded(tensor: Any, half: str, name: str) -> Any:
    """A float32 weight rounded to half precision, under a name."""
    from onnx import numpy_helper

    return numpy_helper.from_array(rounded_array(numpy_helper.to_array(tensor), half), name)


def rounded_array(array: NDArray[Any], half: str) -> NDArray[Any]:
    """float32 values rounded to half precision, as float32."""
    import numpy as np

    if half == "bfloat16":  # the upper half of the bits, to the nearest, ties to even
        bits = np.ascontiguousarray(array).view(np.uint32)
        kept = (bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)
        return np.where(np.isfinite(array), kept.view(np.float32), array)
    try:
        with np.errstate(over="raise"):
            return array.astype(np.float16).astype(np.float32)
    except FloatingPointError:  # rare: weights are small
        saturated = np.where(np.isfinite(array), np.clip(array, -LARGEST, LARGEST), array)
        return saturated.astype(np.float16).astype(np.float32)


def round_weights(
    initializers: Any, weights: dict[str, NDArray[Any]], halves: Collection[str], both: Collection[str], half: str
) -> None:
    """Round float32 weights in place (halves), or add a rounded copy beside them (both: other kernels read them whole).

    weights: the values of those initializers that are placeholders."""
    for tensor in list(initializers):
        if tensor.data_type != FLOAT or not (tensor.name in halves or tensor.name in both):
            continue
        name = tensor.name if tensor.name in halves else tensor.name + ROUNDED
        target = tensor if tensor.name in halves else initializers.add()
        if tensor.name in weights:
            weights[name] = rounded_array(weights[tensor.name], half)
            target.CopyFrom(tensor)
            target.name = name
        else:
            target.CopyFrom(rounded(tensor, half, name))


def read_rounded(node: Any, names: Iterable[str]) -> None:
    """Let a node, and what is inside it, read the rounded form of these values."""
    for name in names:
        for at, given in enumerate(node.input):
            if given == name:
                node.input[at] = name + ROUNDED
        for attribute in node.attribute:
            for graph in (*((attribute.g,) if attribute.HasField("g") else ()), *attribute.graphs):
                rename(graph, name, name + ROUNDED)


def round_results(node: Any, names: Iterable[str], half: str) -> list[Any]:
    """The node followed by the rounding of those of its outputs."""
    after: list[Any] = []
    for at, name in enumerate(node.output):
        if name in names:
            node.output[at] = name + "/exact"
            after += pair(name + "/exact", name, half)
    return [node, *after]


def pair(source: str, target: str, half: str) -> list[Any]:
    """Two Casts that round a value."""
    from onnx import helper

    between = target + "/half"
    return [
        helper.make_node("Cast", [source], [between], name=f"{target}/to_half", to=NUMBERS[half]),
        helper.make_node("Cast", [between], [target], name=f"{target}/to_float", to=FLOAT),
    ]
