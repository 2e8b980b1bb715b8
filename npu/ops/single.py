"""From an operator as acl names it to the ONNX graph that computes it and the Work it is. Names: data/single_ops.csv and the
operator library's own tables."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from npu.ops.activation import NAMES as ACTIVATIONS
from npu.ops.elementwise import ARITHMETIC
from npu.ops.node import Lowered, Misfit, Node, Operand
from npu.ops.registry import lower

OPSET = 20
FIXED_AXES_INPUT = {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin"}  # axes are an input in this opset
KEEP_DEFAULT = 0  # keep_dims of reductions as acl has it; ONNX has 1
ELEMENT = {
    "float32": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "bool": 9, "float16": 10,
    "float64": 11, "uint32": 12, "uint64": 13,
}  # fmt: skip

Value = int | float | str | bool | list[Any]


@dataclass(frozen=True)
class Rule:
    """How an operator becomes ONNX. attributes: its name -> the graph's, "-" for one without an effect on the values."""

    onnx: str
    least: int
    most: int
    attributes: Mapping[str, str]


class Unknown(Exception):
    """No such operator, or not in this form. `reason` is one line."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@cache
def rules() -> dict[str, Rule]:
    """Operator type as acl names it -> its rule."""
    made: dict[str, Rule] = {}
    for onnx, name in {**ARITHMETIC, **ACTIVATIONS}.items():
        two = onnx in {"Add", "Sub", "Mul", "Div", "Pow", "Mod", "Max", "Min", "And", "Or", "Xor", "Equal", "Greater", "Less",
                       "GreaterOrEqual", "LessOrEqual", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "PRelu"}  # fmt: skip
        made[name] = Rule(onnx, 2 if two else 1, 2 if two else 1, {})
    text = resources.files("npu").joinpath("data/single_ops.csv").read_text(encoding="utf-8")
    for row in csv.DictReader(text.splitlines()):
        least, _, most = row["inputs"].partition("-")
        pairs = dict(p.split(">") for p in row["attributes"].split(";") if p)
        made[row["op"]] = Rule(row["onnx"], int(least), int(most or least), pairs)
    return made


@dataclass
class Tensor:
    """An input or output of an operator; constant: its bytes where they are known beforehand."""

    name: str
    dtype: str
    dims: tuple[int, ...]
    constant: bytes | None = None

    @property
    def operand(self) -> Operand:
        return Operand(self.name, self.dtype, self.dims, constant=self.constant is not None)


def build(op: str, inputs: Sequence[Tensor], outputs: Sequence[Tensor], attributes: Mapping[str, Value]) -> tuple[Any, Lowered]:
    """The ModelProto of one operator and the kernel it is. Dims of outputs that are open are filled in. Unknown."""
    import onnx

    rule = rules().get(op)
    if rule is None:
        raise Unknown("no operator of that type is built in")
    if not rule.least <= len(inputs) <= rule.most or len(outputs) != 1:
        raise Unknown(f"it takes {rule.least} to {rule.most} inputs and gives 1 output, not {len(inputs)} and {len(outputs)}")
    for tensor in (*inputs, *outputs):
        if tensor.dtype not in ELEMENT:
            raise Unknown(f"no arithmetic for {tensor.dtype}")
    known: dict[str, Value] = {}
    for name, value in attributes.items():
        if name not in rule.attributes:
            raise Unknown(f"attribute {name} is not known")
        if rule.attributes[name] != "-":
            known[rule.attributes[name]] = value
    nodes, constants = _nodes(rule.onnx, inputs, outputs[0], known)
    helper = onnx.helper
    graph = helper.make_graph(
        nodes,
        op,
        [helper.make_tensor_value_info(t.name, ELEMENT[t.dtype], t.dims) for t in inputs if t.constant is None],
        [helper.make_tensor_value_info(outputs[0].name, ELEMENT[outputs[0].dtype], None)],
        [helper.make_tensor(t.name, ELEMENT[t.dtype], t.dims, t.constant, raw=True) for t in inputs if t.constant is not None]
        + constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9)
    _infer(model, outputs[0])
    return model, _lowered(rule.onnx, op, inputs, outputs[0], known)


def _nodes(kind: str, inputs: Sequence[Tensor], output: Tensor, known: dict[str, Value]) -> tuple[list[Any], list[Any]]:
    """The nodes of an operator and the constants they need."""
    from onnx.helper import make_node, make_tensor

    names, out = [t.name for t in inputs], output.name
    if kind == "square":
        return [make_node("Mul", [names[0], names[0]], [out])], []
    if kind == "gemm_scaled":
        return [
            make_node(
                "Gemm", names[:2], ["product"], transA=int(bool(known.get("transA"))), transB=int(bool(known.get("transB")))
            ),
            make_node("Mul", ["product", names[3]], ["scaled"]),
            make_node("Mul", [names[2], names[4]], ["added"]),
            make_node("Add", ["scaled", "added"], [out]),
        ], []
    if kind == "batch_product":
        nodes, sides = [], []
        for number, name in enumerate(names[:2]):
            if known.get(f"adj_x{number + 1}"):
                rank = len(inputs[number].dims)
                perm = [*range(rank - 2), rank - 1, rank - 2]
                nodes.append(make_node("Transpose", [name], [f"turned{number}"], perm=perm))
                sides.append(f"turned{number}")
            else:
                sides.append(name)
        product = out if len(names) == 2 else "product"
        nodes.append(make_node("MatMul", sides, [product]))
        return [*nodes, *([make_node("Add", [product, names[2]], [out])] if len(names) == 3 else [])], []
    constants = []
    if kind == "Cast":
        known = {"to": ELEMENT[output.dtype]}
    if kind == "Gemm":
        known = {k: int(bool(v)) for k, v in known.items()}
    if kind in ("Softmax", "LogSoftmax") and isinstance(known.get("axis"), list):
        axes = known["axis"]
        if not isinstance(axes, list) or len(axes) != 1:
            raise Unknown("softmax over one axis only")
        known["axis"] = axes[0]
    if kind == "Transpose" and len(inputs) == 2:
        if inputs[1].constant is None:
            raise Unknown("perm must be constant")
        import numpy as np

        known["perm"] = [int(p) for p in np.frombuffer(inputs[1].constant, inputs[1].dtype)]
        names = names[:1]
    if kind in FIXED_AXES_INPUT:
        known.setdefault("keepdims", KEEP_DEFAULT)
        known["keepdims"] = int(bool(known["keepdims"]))
        axes = known.pop("axes", [])
        if isinstance(axes, list) and axes:
            constants.append(make_tensor("axes", 7, [len(axes)], axes))
            names = [*names, "axes"]
    if kind == "ArgMax":
        known["keepdims"] = 0
        nodes = [make_node(kind, names, ["found"], **known), make_node("Cast", ["found"], [out], to=ELEMENT[output.dtype])]
        return nodes, []
    return [make_node(kind, names, [out], **known)], constants


def _infer(model: Any, output: Tensor) -> None:
    """Fill in or check the output's shape, in the model too. Unknown when operands or result do not fit."""
    from onnx.shape_inference import InferenceError, infer_shapes

    try:
        inferred = infer_shapes(model, strict_mode=True, check_type=True, data_prop=True).graph.output[0]
    except InferenceError as error:
        raise Unknown(" ".join(str(error).split())[:200]) from error
    model.graph.output[0].CopyFrom(inferred)
    dims = tuple(int(d.dim_value) for d in inferred.type.tensor_type.shape.dim)
    if output.dims and min(output.dims) >= 0 and _squeezed(output.dims) != _squeezed(dims):
        raise Unknown(f"the result has shape {list(dims)}, not {list(output.dims)}")
    output.dims = dims


def _squeezed(dims: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(d for d in dims if d != 1)


def _lowered(kind: str, op: str, inputs: Sequence[Tensor], output: Tensor, known: Mapping[str, Value]) -> Lowered:
    main = {"square": "Mul", "gemm_scaled": "Gemm", "batch_product": "MatMul"}.get(kind, kind)
    operands = tuple(t.operand for t in inputs)
    if kind == "square":
        operands = (operands[0], operands[0])
    if kind == "batch_product":
        operands = tuple(_turned(o, bool(known.get(f"adj_x{n + 1}"))) for n, o in enumerate(operands[:2]))
    node = Node(op, main, operands, (output.operand,), {k: v for k, v in known.items() if not isinstance(v, str)})
    try:
        found = lower(node)
    except Misfit as error:
        raise Unknown(error.reason) from error
    if found is None:
        raise Unknown("it needs no kernel")
    return found


def _turned(operand: Operand, swap: bool) -> Operand:
    if not swap:
        return operand
    *lead, m, n = operand.dims
    return Operand(operand.name, operand.dtype, (*lead, n, m), operand.constant)
