"""Matrix products and convolutions. A transposed operand is read as it lies, as the kernels do."""

from __future__ import annotations

from typing import Any

from torch import fx

from npu.torch_npu.graph.aten.call import Call, Rule, tensor
from npu.torch_npu.graph.builder import Builder
from npu.torch_npu.operators import Operator, Part
from npu.torch_npu.work import kernels

CONVERT = Operator("format", "", (Part("", "TransData"),), "layout")


def _turned(builder: Builder, value: Any) -> tuple[str, bool]:
    """The matrix behind a swap of the last two axes, and whether there was one."""
    seen = tensor(builder, value)
    if isinstance(value, fx.Node) and value.op == "call_function" and seen is not None and len(seen.dims) >= 2:
        name, rank = str(value.target), len(seen.dims)
        swaps = name == "aten.t.default"
        if name == "aten.transpose.int":
            swaps = {int(a) % rank for a in value.args[1:3]} == {rank - 2, rank - 1}  # type: ignore[arg-type]
        if name == "aten.permute.default":
            order = [int(a) % rank for a in value.args[1]]  # type: ignore[union-attr,arg-type]
            swaps = order == [*range(rank - 2), rank - 1, rank - 2]
        if swaps and isinstance(value.args[0], fx.Node):
            return builder.raw(value.args[0]), True
    return (builder.raw(value) if isinstance(value, fx.Node) else builder.read(value)), False


def product(builder: Builder, call: Call) -> bool:
    """aten::mm and bmm."""
    (left, a), (right, b) = (_turned(builder, call[n]) for n in ("self", "mat2"))
    made = [builder.out(call.node)]
    if not a and not b:
        builder.add("MatMul", [left, right], made)
    elif len(builder.seen(call.node).dims) == 2:
        builder.add("Gemm", [left, right], made, transA=int(a), transB=int(b))
    else:
        builder.add("FusedMatMul", [left, right], made, domain="com.microsoft", transA=int(a), transB=int(b))
    return True


def addmm(builder: Builder, call: Call) -> bool:
    if call["beta"] != 1 or call["alpha"] != 1:
        return False
    (left, a), (right, b) = (_turned(builder, call[n]) for n in ("mat1", "mat2"))
    builder.add("Gemm", [left, right, builder.read(call["self"])], [builder.out(call.node)], transA=int(a), transB=int(b))
    return True


def convolution(builder: Builder, call: Call) -> bool:
    """The filter is an input of the graph, so it changes its format in every run; a depthwise one needs no format."""
    data, weight = tensor(builder, call["input"]), tensor(builder, call["weight"])
    if data is None or weight is None or len(data.dims) not in (3, 4, 5):
        return False
    groups, rank = call["groups"], len(weight.dims) - 2
    filters = builder.read(call["weight"])
    if len(weight.dims) == 4 and not (groups > 1 and groups == data.dims[1]):
        blocks = f"{call.node}.filter"
        number = builder.number()
        made = kernels(CONVERT, (weight,), (weight,), number)
        builder.place(blocks, [filters], [blocks], [weight], made)
        filters = blocks
    reads = [builder.read(call["input"]), filters]
    reads += [] if call["bias"] is None else [builder.read(call["bias"])]

    def wide(values: Any) -> list[int]:
        return [int(v) for v in values] * (rank if len(values) == 1 else 1)

    attributes: dict[str, Any] = {
        "strides": wide(call["stride"]), "pads": wide(call["padding"]) * 2, "dilations": wide(call["dilation"]), "group": groups,
    }  # fmt: skip
    op = "ConvTranspose" if call["transposed"] else "Conv"
    builder.add(op, reads, [builder.out(call.node)], **attributes)
    return True


def embedding(builder: Builder, call: Call) -> bool:
    builder.add("Gather", [builder.read(call["weight"]), builder.read(call["indices"])], [builder.out(call.node)], axis=0)
    return True



RULES: dict[str, Rule] = {
    "mm": product,
    "bmm": product,
    "addmm": addmm,
    "convolution": convolution,
    "embedding": embedding,
}
