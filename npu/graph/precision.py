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
OVERFLOWS, SMALLEST_NORMAL = 0x477FF000, 0x38800000  # bits of 65520, from where float16 is infinite, and of 2^-14
CHUNK, WORTH_IT = 1 << 16, 1 << 12  # values rounded at a time, which stay in the cache; values from where it is faster
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
    if array.size > WORTH_IT and (made := _whole_rounded(array)) is not None:
        return made
    try:
        with np.errstate(over="raise"):
            return array.astype(np.float16).astype(np.float32)
    except FloatingPointError:  # rare: weights are small
        saturated = np.where(np.isfinite(array), np.clip(array, -LARGEST, LARGEST), array)
        return saturated.astype(np.float16).astype(np.float32)


def _whole_rounded(array: NDArray[Any]) -> NDArray[Any] | None:
    """float32 values rounded to float16 by their bits, four times as fast as two conversions; None where one is too large.

    1. To the nearest multiple of 2^13 units in the last place, ties to even: 10 of 23 bits of the fraction stay.
    2. What is below 2^-14 to a multiple of 2^-24 (there float16 has no exponent any more): adding 0.75 shifts the other bits out.
    """
    import numpy as np

    values = np.ascontiguousarray(array).reshape(-1)
    made = np.empty(values.size, np.float32)
    bits, out = values.view(np.uint32), made.view(np.uint32)
    scratch = np.empty(CHUNK, np.uint32)
    for start in range(0, values.size, CHUNK):
        part, target = bits[start : start + CHUNK], out[start : start + CHUNK]
        work = scratch[: part.size]
        np.bitwise_and(part, 0x7FFFFFFF, out=work)
        if int(work.max()) >= OVERFLOWS:
            return None
        tiny = start + np.flatnonzero(work < SMALLEST_NORMAL)
        np.right_shift(part, 13, out=work)
        np.bitwise_and(work, 1, out=work)
        np.add(work, 0xFFF, out=work)
        np.add(work, part, out=work)
        np.bitwise_and(work, 0xFFFFE000, out=target)
        if tiny.size:
            few = values[tiny]
            made[tiny] = np.copysign((few + np.float32(0.75)) - np.float32(0.75), few)
    return made.reshape(array.shape)


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
