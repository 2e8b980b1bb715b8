"""Which models go to onnx.reference because onnxruntime's CPU kernels answer differently from the standard, or not at all.

Found with the node tests of onnx 1.23 and onnxruntime 1.32; every entry names what differs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

ROUTED = {"DFT", "STFT"}  # other results
# Element types (TensorProto.DataType) that cannot be handed to onnxruntime as numpy arrays: complex, bfloat16, a byte and less.
UNFED = {14, 15, *range(16, 32)}

BOOL = 9  # TensorProto.DataType

Values = Mapping[str, Any]  # name -> tensor of a constant, or type of a model input


def _dropout(node: Any, _values: Values) -> bool:
    """In training other random numbers."""
    return len(node.input) > 2


def _attention(node: Any, _values: Values) -> bool:
    """Causal masks, masked lengths and the scores as an output."""
    causal = any(a.name == "is_causal" and a.i for a in node.attribute)
    return causal or len(node.output) > 3 or len(node.input) > 6


def _conv_integer(node: Any, values: Values) -> bool:
    """A zero point for each output channel is refused at run time."""
    known = values.get(node.input[3]) if len(node.input) > 3 else None
    return known is not None and _elements(known) > 1


def _resize(node: Any, values: Values) -> bool:
    """Shrinking with aligned corners: other sample points."""
    if not any(a.name == "coordinate_transformation_mode" and a.s == b"align_corners" for a in node.attribute):
        return False
    scales = values.get(node.input[2]) if len(node.input) > 2 else None
    return scales is not None and (not hasattr(scales, "data_type") or _least(scales) < 1)


def _max_unpool(node: Any, _values: Values) -> bool:
    """A stated size of the result moves the values."""
    return len(node.input) > 2


def _reduce_max(node: Any, values: Values) -> bool:
    """Over nothing, onnxruntime refuses truth values."""
    known = values.get(node.input[0])
    if known is None or hasattr(known, "data_type") or known.elem_type != BOOL:
        return False
    return any(d.HasField("dim_value") and d.dim_value == 0 for d in known.shape.dim)


DIFFERS: dict[str, Callable[[Any, Values], bool]] = {
    "ReduceMax": _reduce_max,
    "MaxUnpool": _max_unpool,
    "Dropout": _dropout,
    "Attention": _attention,
    "ConvInteger": _conv_integer,
    "Resize": _resize,
}


def routed(proto: Any, operators: set[str]) -> bool:
    """True when onnx.reference has to compute a model. operators: the types in it, those of functions too."""
    if operators & ROUTED or any(v.type.tensor_type.elem_type in UNFED for v in (*proto.graph.input, *proto.graph.output)):
        return True
    if not operators & set(DIFFERS):
        return False
    values = {v.name: v.type.tensor_type for v in proto.graph.input} | {t.name: t for t in proto.graph.initializer}
    nodes = (n for part in (proto.graph, *proto.functions) for n in part.node)
    return any(DIFFERS[n.op_type](n, values) for n in nodes if n.op_type in DIFFERS and not n.domain)


def _elements(value: Any) -> int:
    """Elements of a constant or of a model input; open dims count one."""
    count = 1
    for dim in value.dims if hasattr(value, "data_type") else (d.dim_value or 1 for d in value.shape.dim):
        count *= dim
    return count


def _least(tensor: Any) -> float:
    from onnx import numpy_helper

    return float(numpy_helper.to_array(tensor).min(initial=1.0))
