"""ONNX element types by the names used here, and the types of a graph's values as operands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from npu.ops.node import Node, Operand

# TensorProto.DataType -> name (the names are those of npu.dtypes.DTYPES)
NAMES = {
    1: "float32",
    2: "uint8",
    3: "int8",
    4: "uint16",
    5: "int16",
    6: "int32",
    7: "int64",
    8: "string",
    9: "bool",
    10: "float16",
    11: "float64",
    12: "uint32",
    13: "uint64",
    14: "complex64",
    15: "complex128",
    16: "bfloat16",
    17: "float8_e4m3fn",
    18: "float8_e4m3fnuz",
    19: "float8_e5m2",
    20: "float8_e5m2fnuz",
    21: "uint4",
    22: "int4",
    23: "float4_e2m1fn",
    24: "float8_e8m0fnu",
    25: "uint2",
    26: "int2",
}
# AttributeProto.AttributeType -> field: the kinds an operator's Work can depend on
FIELDS = {1: "f", 2: "i", 3: "s", 6: "floats", 7: "ints"}
GRAPH = 5


def operand(value: Any) -> Operand:
    """A ValueInfoProto as an operand; open dims are -1, the dtype is "" when it is no tensor."""
    tensor = value.type.tensor_type
    dims = tuple(d.dim_value or (0 if d.HasField("dim_value") else -1) for d in tensor.shape.dim)
    dtype = NAMES.get(tensor.elem_type, "") if value.type.HasField("tensor_type") else ""
    return Operand(value.name, dtype, dims, ranked=tensor.HasField("shape"))


def operands(graph: Any) -> dict[str, Operand]:
    """Every value of a GraphProto whose type is known: inputs, initializers, value_info, outputs."""
    found = {v.name: operand(v) for v in (*graph.value_info, *graph.output, *graph.input)}
    return found | {t.name: constant(t) for t in graph.initializer}


def constant(tensor: Any) -> Operand:
    """A TensorProto as an operand."""
    return Operand(tensor.name, NAMES.get(tensor.data_type, ""), tuple(tensor.dims), constant=True)


class Operands(Mapping[str, Operand]):
    """operands() for who asks for few of them: each is made when it is asked for."""

    def __init__(self, graph: Any) -> None:
        self._values = {v.name: v for v in (*graph.value_info, *graph.output, *graph.input)}
        self._constants = {t.name: t for t in graph.initializer}

    def __getitem__(self, name: str) -> Operand:
        return constant(self._constants[name]) if name in self._constants else operand(self._values[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._values | self._constants)

    def __len__(self) -> int:
        return len(self._values | self._constants)


def node_of(proto: Any, types: Mapping[str, Operand]) -> Node:
    """A NodeProto with its operands. A value of unknown type counts as a float32 scalar."""

    def known(name: str) -> Operand:
        return types.get(name) or Operand(name, "float32", ())

    attributes = {a.name: getattr(a, FIELDS[a.type]) for a in proto.attribute if a.type in FIELDS}
    attributes |= {a.name: True for a in proto.attribute if a.type == GRAPH}  # that there is a subgraph
    return Node(
        proto.name,
        proto.op_type,
        tuple(known(i) if i else None for i in proto.input),
        tuple(known(o) for o in proto.output if o),
        attributes,
        proto.domain,
    )
