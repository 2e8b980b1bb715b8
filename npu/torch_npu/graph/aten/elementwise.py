"""Element by element: arithmetic, comparison, activations, casts."""

from __future__ import annotations

from functools import partial
from typing import Any

from torch import fx

from npu.graph.custom import NUMBERS
from npu.torch_npu.graph.aten.call import Call, Rule, tensor
from npu.torch_npu.graph.builder import Builder

UNARY = {
    "relu": "Relu", "sigmoid": "Sigmoid", "tanh": "Tanh", "abs": "Abs", "neg": "Neg", "exp": "Exp", "log": "Log",
    "sqrt": "Sqrt", "reciprocal": "Reciprocal", "erf": "Erf", "sin": "Sin", "cos": "Cos", "floor": "Floor", "ceil": "Ceil",
    "round": "Round", "sign": "Sign", "hardswish": "HardSwish", "mish": "Mish", "logical_not": "Not", "bitwise_not": "Not",
}  # fmt: skip
BINARY = {
    "add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "maximum": "Max", "minimum": "Min", "pow": "Pow", "eq": "Equal",
    "lt": "Less", "le": "LessOrEqual", "gt": "Greater", "ge": "GreaterOrEqual", "logical_and": "And", "logical_or": "Or",
    "logical_xor": "Xor",
}  # fmt: skip


def beneath(source: Any) -> fx.Node | None:
    """The value under a change of dims that only this operator reads: behind the operator it is the same."""
    flat = isinstance(source, fx.Node) and str(source.target) in ("aten.view.default", "aten._unsafe_view.default")
    if not flat or len(source.users) != 1 or not isinstance(source.args[0], fx.Node):
        return None
    return source.args[0]


def unary(op: str, builder: Builder, call: Call, **attributes: Any) -> bool:
    """A product before it that was only given other dims stays next to it, so that it can take the operator along."""
    seen, source = builder.seen(call.node), next(iter(call.given.values()))
    if "bitwise" in str(call.node.target) and seen.dtype != "bool":
        return False
    inner = beneath(source)
    if inner is None:
        builder.add(op, [builder.read(source)], [builder.out(call.node)], **attributes)
        return True
    made = builder.temporary(seen.dtype, builder.seen(inner).dims)
    builder.add(op, [builder.read(inner)], [made], **attributes)
    builder.add("Reshape", [made, builder.constant(list(seen.dims), "int64")], [builder.out(call.node)])
    return True


def _unwrapped(builder: Builder, value: Any) -> Any:
    """An operand without an expansion: elementwise operators broadcast by themselves."""
    while isinstance(value, fx.Node) and "aten.expand." in str(value.target) and tensor(builder, value.args[0]) is not None:
        value = value.args[0]
    return value


def binary(op: str, builder: Builder, call: Call) -> bool:
    """Numbers become constants of the partner's type. A factor other than 1 is a kernel of its own."""
    if call.given.get("alpha", 1) != 1 or call.given.get("rounding_mode") is not None:
        return False
    left, right = (_unwrapped(builder, v) for v in list(call.given.values())[:2])
    known = [t for t in (tensor(builder, left), tensor(builder, right)) if t is not None]
    if not known:
        return False
    compares = op in ("Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual")
    dtype = known[0].dtype if compares else builder.seen(call.node).dtype
    builder.add(op, [builder.read(left, dtype), builder.read(right, dtype)], [builder.out(call.node)])
    return True


def rsub(builder: Builder, call: Call) -> bool:
    if call["alpha"] != 1:
        return False
    dtype = builder.seen(call.node).dtype
    builder.add("Sub", [builder.read(call["other"], dtype), builder.read(call["self"], dtype)], [builder.out(call.node)])
    return True


def rsqrt(builder: Builder, call: Call) -> bool:
    seen = builder.seen(call.node)
    root = builder.temporary(seen.dtype, seen.dims)
    builder.add("Sqrt", [builder.read(call["self"])], [root])
    builder.add("Reciprocal", [root], [builder.out(call.node)])
    return True


def silu(builder: Builder, call: Call) -> bool:
    seen, inner = builder.seen(call.node), beneath(call["self"])
    source = builder.read(call["self"] if inner is None else inner)
    dims = seen.dims if inner is None else builder.seen(inner).dims
    gate = builder.temporary(seen.dtype, dims)
    made = builder.out(call.node) if inner is None else builder.temporary(seen.dtype, dims)
    builder.add("Sigmoid", [source], [gate])
    builder.add("Mul", [source, gate], [made])
    if inner is not None:
        builder.add("Reshape", [made, builder.constant(list(seen.dims), "int64")], [builder.out(call.node)])
    return True


def not_equal(builder: Builder, call: Call) -> bool:
    seen, first = builder.seen(call.node), tensor(builder, call["self"])
    if first is None:
        return False
    same = builder.temporary("bool", seen.dims)
    builder.add("Equal", [builder.read(call["self"]), builder.read(call["other"], first.dtype)], [same])
    builder.add("Not", [same], [builder.out(call.node)])
    return True


def gelu(builder: Builder, call: Call) -> bool:
    return unary("Gelu", builder, call, approximate=call["approximate"])


def hardsigmoid(builder: Builder, call: Call) -> bool:
    return unary("HardSigmoid", builder, call, alpha=1 / 6, beta=0.5)


def leaky_relu(builder: Builder, call: Call) -> bool:
    return unary("LeakyRelu", builder, call, alpha=float(call["negative_slope"]))


def elu(builder: Builder, call: Call) -> bool:
    if call["scale"] != 1 or call["input_scale"] != 1:
        return False
    return unary("Elu", builder, call, alpha=float(call["alpha"]))


def softplus(builder: Builder, call: Call) -> bool:
    if call["beta"] != 1:
        return False
    return unary("Softplus", builder, call)


def clip(low: str, high: str, builder: Builder, call: Call) -> bool:
    """low, high: names of the arguments that hold the bounds, "" for none."""
    bounds = [call.given.get(n) if n else None for n in (low, high)]
    if any(isinstance(b, fx.Node) for b in bounds):
        return False
    dtype = builder.seen(call.node).dtype
    limits = ["" if b is None else builder.constant(b, dtype) for b in bounds]
    builder.add("Clip", [builder.read(call["self"]), *limits], [builder.out(call.node)])
    return True


def where(builder: Builder, call: Call) -> bool:
    dtype = builder.seen(call.node).dtype
    operands = [builder.read(_unwrapped(builder, call[n]), dtype) for n in ("condition", "self", "other")]
    builder.add("Where", operands, [builder.out(call.node)])
    return True


def masked_fill(builder: Builder, call: Call) -> bool:
    dtype = builder.seen(call.node).dtype
    builder.add(
        "Where",
        [builder.read(_unwrapped(builder, call["mask"])), builder.read(call["value"], dtype), builder.read(call["self"])],
        [builder.out(call.node)],
    )
    return True


def to_copy(builder: Builder, call: Call) -> bool:
    """A change of type; without one a copy that a planned graph does not need."""
    source, seen = tensor(builder, call["self"]), builder.seen(call.node)
    if source is None:
        return False
    if source.dtype == seen.dtype:
        builder.add("Identity", [builder.read(call["self"])], [builder.out(call.node)])
    else:
        builder.add("Cast", [builder.read(call["self"])], [builder.out(call.node)], to=NUMBERS[seen.dtype])
    return True


RULES: dict[str, Rule] = {
    **{name: partial(unary, op) for name, op in UNARY.items()},
    **{name: partial(binary, op) for name, op in BINARY.items()},
    "ne": not_equal,
    "rsub": rsub,
    "rsqrt": rsqrt,
    "silu": silu,
    "gelu": gelu,
    "hardsigmoid": hardsigmoid,
    "leaky_relu": leaky_relu,
    "elu": elu,
    "softplus": softplus,
    "clamp": partial(clip, "min", "max"),
    "clamp_min": partial(clip, "min", ""),
    "clamp_max": partial(clip, "", "max"),
    "hardtanh": partial(clip, "min_val", "max_val"),
    "where": where,
    "masked_fill": masked_fill,
    "_to_copy": to_copy,
}
