"""From an operator and the shapes of one call to the kernels the device runs: names, Work, shapes as profiles print them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod
from typing import NamedTuple

from npu.cost.work import Work
from npu.dtypes import DTYPES
from npu.om import Kernel
from npu.ops import kernel as kernels_of
from npu.ops.axes import across, left_out
from npu.ops.node import Node, Operand
from npu.ops.registry import lower
from npu.torch_npu.operators import Operator, Part

# Kernels that stand beside the main one of their operator, and what they do there.
BESIDE = {"MemSet": "fill", "TransData": "layout", "Transpose": "layout", "Cast": "vector", "BroadcastTo": "layout",
          "Slice": "layout", "AsStrided": "layout", "DSAGenBitMask": "fill"}  # fmt: skip
NUMBERED = "{type}{number}"  # names on the older compile path
# Backward of attention: five products of the size of the forward's two (recomputed scores, dV, dP, dQ, dK).
BACKWARD_PRODUCTS, FORWARD_PRODUCTS = 5, 2
C0 = 16  # channels that lie side by side in the cube's own format


class Seen(NamedTuple):
    """A tensor of a call. strides: () where it is contiguous."""

    dtype: str
    dims: tuple[int, ...]
    strides: tuple[int, ...] = ()


def operand(seen: Seen, name: str = "") -> Operand:
    """What it moves: an axis of stride 0 is stored once, whatever its length."""
    dims = seen.dims
    if 0 in seen.strides:
        dims = tuple(1 if stride == 0 else dim for dim, stride in zip(dims, seen.strides, strict=True))
    return Operand(name, seen.dtype, dims)


def made_contiguous(seen: Seen) -> str:
    """The kernel that makes a strided input contiguous, by how it is strided; "" where none is needed."""
    strides, dims = seen.strides, seen.dims
    if not strides or prod(dims) <= 1:
        return ""
    if any(s == 0 and d > 1 for s, d in zip(strides, dims, strict=True)):
        return "BroadcastTo"
    expected = 1
    for stride, dim in sorted((s, d) for s, d in zip(strides, dims, strict=True) if d > 1):
        if stride != expected:
            return "Slice"
        expected *= dim
    return "Transpose"


def _node(op: str, ins: Sequence[Seen], outs: Sequence[Seen], **attributes: object) -> Node:
    return Node(op, op, tuple(map(operand, ins)), tuple(map(operand, outs)), attributes)


def _vector(part: str, ins: Sequence[Seen], outs: Sequence[Seen]) -> Work:
    return kernels_of.vector(_node(part, ins, outs), part, arithmetic=False).work


def _row(part: str, ins: Sequence[Seen], outs: Sequence[Seen]) -> Work:
    """Rows: as many as results where the operator reduces, else as many as statistics of rows are among its tensors (a norm has
    them behind its first result, the gradient of one behind its first two inputs), else all along the last axis."""
    big = max((prod(s.dims) for s in ins), default=1)
    result = prod(outs[0].dims) if outs else 1
    first = ins[0].dims if ins else ()
    told = outs[1:2] if "Grad" not in part else ins[2:3] if len(ins) > 2 and ins[1].dims == first else ()
    walk = across(first, left_out(first, outs[0].dims)) if result < big == prod(first) and outs else None
    if result < big:
        rows = result
    elif told and prod(told[0].dims) < big:
        rows = prod(told[0].dims)
    else:
        rows = big // max(first[-1] if first else 1, 1)
    made = kernels_of.row(_node(part, ins, outs), part, rows).work
    return replace(made, form="across", dims=(made.dims[0], *walk)) if walk is not None and made.form == "row" else made


def _pool(operator: Operator, part: str, ins: Sequence[Seen], outs: Sequence[Seen]) -> Work:
    """Rows: planes of the format NC1HWC0, 16 channels each; elements: the values of all windows. The smaller of results and
    gradient tells how many windows there are."""
    big = max((*ins, *outs), key=lambda s: prod(s.dims))
    results = min((ins[0], outs[0]), key=lambda s: prod(s.dims))
    values = prod(results.dims) * operator.window if operator.window else prod(big.dims)
    batch, channels = big.dims[:2] if len(big.dims) > 3 else (1, big.dims[0] if big.dims else 1)
    work = kernels_of.row(_node(part, ins, outs), part, max(batch, 1) * -(-max(channels, 1) // C0)).work
    return replace(work, dims=(values, work.dims[1])) if work.form == "row" else work


def _layout(part: str, ins: Sequence[Seen], outs: Sequence[Seen]) -> Work:
    return kernels_of.layout(_node(part, ins, outs), part).work


def _fill(part: str, ins: Sequence[Seen], outs: Sequence[Seen]) -> Work:
    return kernels_of.fill(_node(part, (), outs or ins), part).work


def _aicpu(part: str, ins: Sequence[Seen], outs: Sequence[Seen]) -> Work:
    return kernels_of.aicpu(_node(part, ins, outs), part).work


def _matmul(part: str, ins: Sequence[Seen], outs: Sequence[Seen]) -> Work:
    """The two operands are the last inputs; an added one before them is a fused bias."""
    left, right = ins[-2], ins[-1]
    a, b = left.dims, right.dims
    batch = prod(a[:-2]) if len(b) > 2 else 1
    m = a[-2] if len(a) > 1 else 1
    n = b[-1] if len(b) > 1 else 1
    made = kernels_of.matmul(_node(part, (left, right), outs), part, max(batch, 1), max(m, 1), max(n, 1), max(a[-1], 1)).work
    if len(ins) < 3:
        return made
    return replace(made, read_bytes=made.read_bytes + operand(ins[0]).bytes, epilogue=prod(outs[0].dims))


def _groups(data: Seen, weight: Seen) -> int:
    return max(data.dims[1] // max(weight.dims[1], 1), 1)


def _conv(part: str, ins: Sequence[Seen], outs: Sequence[Seen]) -> Work:
    """ins: data, weight, perhaps bias. A result with other channels than the filter's first axis is a transposed convolution."""
    data, weight = ins[0], ins[1]
    turned = data.dims[1] == weight.dims[0] and outs[0].dims[1] != weight.dims[0]
    groups = 1 if turned else _groups(data, weight)
    made = lower(_node("ConvTranspose" if turned else "Conv", ins, outs, group=groups))
    assert made is not None
    return made.work


def _input_gradient(part: str, ins: Sequence[Seen], outs: Sequence[Seen]) -> Work:
    """ins: gradient, data, weight: the products of the forward pass, from the gradient to the data."""
    forward = _conv("Conv2D", (ins[1], ins[2]), (ins[0],))
    moved = operand(ins[0]).bytes + operand(ins[2]).bytes
    return replace(forward, op=part, read_bytes=moved, write_bytes=operand(ins[1]).bytes, epilogue=0)


def _filter_gradient(part: str, ins: Sequence[Seen], outs: Sequence[Seen]) -> Work:
    forward = _conv("Conv2D", (ins[1], ins[2]), (ins[0],))
    moved = operand(ins[0]).bytes + operand(ins[1]).bytes
    return replace(forward, op=part, read_bytes=moved, write_bytes=operand(ins[2]).bytes, epilogue=0)


def _attention(part: str, ins: Sequence[Seen], outs: Sequence[Seen], more: int = FORWARD_PRODUCTS) -> Work:
    """ins: query, key, value as (batch, heads, length, depth), before them the gradient in the backward pass."""
    query, key = ins[0], ins[1]
    batch, heads, queries, depth = query.dims
    dims = (-(-batch * more // FORWARD_PRODUCTS), heads, queries, key.dims[2], depth)
    node = _node(part, ins, outs)
    if min(dims) < 1 or query.dtype not in kernels_of.CUBE_TYPES:
        return _aicpu(part, ins, outs)
    return Work("attention", part, query.dtype, dims, kernels_of.read_bytes(node), kernels_of.write_bytes(node))


def _attention_backward(part: str, ins: Sequence[Seen], outs: Sequence[Seen]) -> Work:
    return _attention(part, ins[1:4] if len(ins) > 3 else ins, outs, BACKWARD_PRODUCTS)


def _grouped(part: str, ins: Sequence[Seen], outs: Sequence[Seen]) -> Work:
    """ins: all tokens (m, k), the weights (experts, k, n)."""
    (m, k), (experts, _, n) = ins[0].dims[-2:], ins[1].dims
    node = _node(part, ins, outs)
    dims = (max(experts, 1), max(m, 1), max(n, 1), max(k, 1))
    return Work("grouped_matmul", part, ins[0].dtype, dims, kernels_of.read_bytes(node), kernels_of.write_bytes(node))


def _foreach(part: str, ins: Sequence[Seen], outs: Sequence[Seen]) -> Work:
    """All tensors of the lists in one kernel: as many elements as the results have together."""
    node = _node(part, ins, outs)
    if kernels_of.compute_type(node) in kernels_of.AICPU_TYPES:
        return kernels_of.aicpu(node, part).work
    count = sum(prod(s.dims) for s in outs) or max((prod(s.dims) for s in ins), default=1)
    return Work(
        "vector", part, kernels_of.compute_type(node), (count, 1), kernels_of.read_bytes(node), kernels_of.write_bytes(node)
    )


GATES = {"DynamicRNN": ("LSTM", 4), "DynamicGRUV2": ("GRU", 3), "CommonRNN": ("RNN", 1)}


def _recurrent(part: str, ins: Sequence[Seen], outs: Sequence[Seen]) -> Work:
    """One layer and direction. ins: the call's input as (steps, batch, features), the layer's input weight. The backward pass has
    twice the products of the forward one: for the data and for the weights."""
    data, weight = ins
    kind, gates = GATES[part.removesuffix("Grad")]
    layer_input = Seen(data.dtype, (*data.dims[:-1], weight.dims[1]))
    result = Seen(data.dtype, (*data.dims[:-1], weight.dims[0] // gates))
    made = lower(_node(kind, (layer_input, Seen(weight.dtype, (1, *weight.dims))), (result,)))
    assert made is not None
    work = replace(made.work, op=part)
    if not part.endswith("Grad") or work.form != "matmul":
        return work
    steps, batch, n, k = work.dims
    return replace(work, dims=(steps, batch, n, 2 * k), read_bytes=2 * work.read_bytes, write_bytes=2 * work.write_bytes)


FORM: dict[str, Callable[[str, Sequence[Seen], Sequence[Seen]], Work]] = {
    "vector": _vector,
    "row": _row,
    "layout": _layout,
    "fill": _fill,
    "aicpu": _aicpu,
    "matmul": _matmul,
    "conv": _conv,
    "conv_backward": _row,  # its bias: a sum
    "Conv2DBackpropInput": _input_gradient,
    "Conv2DBackpropFilter": _filter_gradient,
    "attention": _attention,
    "attention_backward": _attention_backward,
    "recurrent": _recurrent,
    "grouped": _grouped,
    "foreach": _foreach,
    "fused": _foreach,
}
TAKES_STRIDES = ("matmul", "conv", "conv_backward", "layout", "attention", "attention_backward", "grouped", "foreach", "fused",
                 "recurrent")  # fmt: skip


def kernels(operator: Operator, ins: Sequence[Seen], outs: Sequence[Seen], number: int) -> tuple[Kernel, ...]:
    """The kernels of one call in launch order. number: of this shape of an operator on the older compile path."""
    made = []
    if operator.form not in TAKES_STRIDES:
        for seen in ins:
            kind = made_contiguous(seen)
            if kind:
                whole = Seen(seen.dtype, seen.dims)
                made.append(
                    _kernel(operator, Part(f"{kind}AiCore", kind), number, _layout(kind, (seen,), (whole,)), (seen,), (whole,))
                )
    if operator.form == "conv":
        made += [_move(operator, number + at, seen) for at, seen in enumerate(ins[:2])]
    elif operator.form == "conv_backward":
        made += [_move(operator, number + at, seen) for at, seen in enumerate(ins[:3])]
    if operator.form == "recurrent":
        part = operator.parts[0]
        layers = [(ins[0], weight) for weight in ins[1:]]
        return tuple(_kernel(operator, part, number, _recurrent(part.type, layer, outs), layer, outs[:1]) for layer in layers)
    parts = _parts(operator, ins, outs)
    main = max((n for n, part in enumerate(parts) if part.type not in BESIDE), default=0)
    for n, part in enumerate(parts):
        if part.type in BESIDE and len(operator.parts) > 1:
            form, reads, writes = BESIDE[part.type], ins, outs
            if form == "layout":  # of what the main kernel reads, or of what it wrote
                reads = writes = ins[n : n + 1] or ins[:1] if n < main else outs[:1]
        else:
            form, reads, writes = part.type if part.type in FORM else operator.form, ins, outs
        work = _pool(operator, part.type, reads, writes) if form == "pool" else FORM[form](part.type, reads, writes)
        made.append(_kernel(operator, part, number, _checked(work), reads, writes))
    if operator.form == "conv":
        made.append(_move(operator, number + 2, outs[0]))
    return tuple(made)


def _parts(operator: Operator, ins: Sequence[Seen], outs: Sequence[Seen]) -> list[Part]:
    """Of a convolution's backward pass those whose result is asked for (outs: gradients of data, weight, bias; () not asked)."""
    if operator.form != "conv_backward":
        return list(operator.parts)
    asked = [any(out.dims == like.dims for out in outs) for like in (ins[1], ins[2])]
    parts = [part for part, wanted in zip(operator.parts, asked, strict=True) if wanted]
    if any(len(out.dims) == 1 for out in outs):
        parts.append(Part("ReduceSumAiCore", "ReduceSum"))
    return parts


def _move(operator: Operator, number: int, seen: Seen) -> Kernel:
    """The layout change between NCHW and the cube's own formats that a convolution has around it."""
    work = _layout("TransData", (seen,), (seen,))
    return replace(_kernel(operator, Part("", "TransData"), number, work, (seen,), (seen,)), name=f"trans_TransData_{number}")


def _checked(work: Work) -> Work:
    """A form the tables do not know for a type of input is the AI CPU's; dims of an empty tensor count 1."""
    least = tuple(max(dim, 0 if work.form in ("vector", "row", "layout", "fill", "aicpu") else 1) for dim in work.dims)
    return work if least == work.dims else replace(work, dims=least)


def _kernel(operator: Operator, part: Part, number: int, work: Work, ins: Sequence[Seen], outs: Sequence[Seen]) -> Kernel:
    name = f"{operator.api}_{part.inner}_{part.type}" if operator.api else NUMBERED.format(type=part.type, number=number)
    return Kernel(name, part.type, work, *_texts(ins), *_texts(outs))


def _texts(tensors: Sequence[Seen]) -> tuple[str, str, str]:
    """Shapes, types and formats as profiles print them."""
    return (
        ";".join(",".join(map(str, t.dims)) for t in tensors),
        ";".join(DTYPES[t.dtype][2] if t.dtype in DTYPES else t.dtype.upper() for t in tensors),
        ";".join("NCHW" if len(t.dims) == 4 else "ND" for t in tensors),
    )
