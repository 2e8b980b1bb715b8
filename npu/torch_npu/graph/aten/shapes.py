"""Views and moves. What torch gets by strides alone is a kernel here unless the bytes stay in their order."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import Any

from npu.torch_npu.graph.aten.call import Call, Rule, tensor
from npu.torch_npu.graph.builder import Builder

FLAT = ("view", "_unsafe_view", "reshape", "_reshape_alias", "unsqueeze", "squeeze", "alias", "detach", "clone",
        "lift_fresh_copy", "contiguous", "flatten", "view_copy")  # fmt: skip
MOST_CONSTANT = 1024  # elements: larger ones are filled on the device
NUMPY = {"float32": "float32", "float16": "float16", "float64": "float64", "int64": "int64", "int32": "int32", "bool": "bool"}


def reshape(builder: Builder, call: Call) -> bool:
    """The same bytes under other dims."""
    source, seen = next(iter(call.given.values())), builder.seen(call.node)
    given = tensor(builder, source)
    if given is None or prod(given.dims) != prod(seen.dims) or given.dtype != seen.dtype:
        return False
    if given.dims == seen.dims:
        builder.add("Identity", [builder.read(source)], [builder.out(call.node)])
    else:
        shape = builder.constant(list(seen.dims), "int64")
        builder.add("Reshape", [builder.read(source), shape], [builder.out(call.node)])
    return True


def _transposed(builder: Builder, call: Call, order: list[int]) -> bool:
    source = tensor(builder, call["self"])
    if source is None:
        return False
    rank = len(source.dims)
    order = [d % rank for d in order] if rank else []
    moved = [d for d in order if source.dims[d] != 1]
    before, after = builder.laid.get(call["self"]), builder.laid.get(call.node)
    kept = before is not None and after is not None and bool(before.strides) and not after.strides
    if kept or moved == sorted(moved):  # the kernel before wrote it so already, or axes of length 1 change places: bytes stay
        return reshape(builder, call)
    builder.add("Transpose", [builder.read(call["self"])], [builder.out(call.node)], perm=order)
    return True


def permute(builder: Builder, call: Call) -> bool:
    return _transposed(builder, call, list(call["dims"]))


def transpose(builder: Builder, call: Call) -> bool:
    rank = len(builder.seen(call.node).dims)
    first, second = (call.given.get(n, default) for n, default in (("dim0", 0), ("dim1", 1)))
    order = list(range(rank))
    if rank > 1:
        order[first], order[second] = order[second], order[first]
    return _transposed(builder, call, order)


def expand(builder: Builder, call: Call) -> bool:
    source, seen = tensor(builder, call["self"]), builder.seen(call.node)
    if source is None:
        return False
    if prod(source.dims) == prod(seen.dims):
        return reshape(builder, call)
    builder.add("Expand", [builder.read(call["self"]), builder.constant(list(seen.dims), "int64")], [builder.out(call.node)])
    return True


def cut(builder: Builder, call: Call) -> bool:
    """aten::slice."""
    source, seen = tensor(builder, call["self"]), builder.seen(call.node)
    if source is None:
        return False
    if source.dims == seen.dims:
        return reshape(builder, call)
    axis = call["dim"] % len(source.dims)
    begin = 0 if call["start"] is None else call["start"]
    limits = [begin, begin + seen.dims[axis] * call["step"], axis, call["step"]]
    builder.add(
        "Slice", [builder.read(call["self"]), *(builder.constant([v], "int64") for v in limits)], [builder.out(call.node)]
    )
    return True


def select(builder: Builder, call: Call) -> bool:
    source = tensor(builder, call["self"])
    if source is None:
        return False
    if source.dims[call["dim"]] == 1:
        return reshape(builder, call)
    axis, at = call["dim"] % len(source.dims), call["index"] % source.dims[call["dim"]]
    part = builder.temporary(source.dtype, (*source.dims[:axis], 1, *source.dims[axis + 1 :]))
    builder.add("Slice", [builder.read(call["self"]), *(builder.constant([v], "int64") for v in (at, at + 1, axis, 1))], [part])
    shape = builder.constant(list(builder.seen(call.node).dims), "int64")
    builder.add("Reshape", [part, shape], [builder.out(call.node)])
    return True


def split(builder: Builder, call: Call) -> bool:
    made = builder.seen(call.node)
    outs = [builder.out(call.node, at) for at in range(len(made))]
    axis = call["dim"] % len(made[0].dims)
    sizes = builder.constant([s.dims[axis] for s in made], "int64")
    builder.add("Split", [builder.read(next(iter(call.given.values()))), sizes], outs, axis=axis)
    return True


def cat(builder: Builder, call: Call) -> bool:
    seen = builder.seen(call.node)
    parts = [p for p in call["tensors"] if prod(tensor(builder, p).dims)]  # type: ignore[union-attr]
    if len(parts) < 2:
        return False
    builder.add("Concat", [builder.read(p) for p in parts], [builder.out(call.node)], axis=call["dim"] % len(seen.dims))
    return True


def index_select(builder: Builder, call: Call) -> bool:
    rank = max(len(builder.seen(call.node).dims), 1)
    builder.add(
        "Gather", [builder.read(call["self"]), builder.read(call["index"])], [builder.out(call.node)], axis=call["dim"] % rank
    )
    return True


def index(builder: Builder, call: Call) -> bool:
    """One index tensor along one axis gathers; masks and several of them are the framework's own kernel."""
    chosen = [(axis, i) for axis, i in enumerate(call["indices"]) if i is not None]
    if len(chosen) != 1:
        return False
    axis, places = chosen[0]
    seen = tensor(builder, places)
    if seen is None or seen.dtype not in ("int64", "int32"):
        return False
    builder.add("Gather", [builder.read(call["self"]), builder.read(places)], [builder.out(call.node)], axis=axis)
    return True


def repeat(builder: Builder, call: Call) -> bool:
    source = tensor(builder, call["self"])
    if source is None or len(call["repeats"]) != len(source.dims):
        return False
    builder.add("Tile", [builder.read(call["self"]), builder.constant(list(call["repeats"]), "int64")], [builder.out(call.node)])
    return True


def pad(builder: Builder, call: Call) -> bool:
    source = tensor(builder, call["self"])
    if source is None or min(call["pad"], default=0) < 0:
        return False
    rank, given = len(source.dims), list(call["pad"])
    before, after = [0] * rank, [0] * rank
    for at in range(len(given) // 2):
        before[rank - 1 - at], after[rank - 1 - at] = given[2 * at], given[2 * at + 1]
    reads = [builder.read(call["self"]), builder.constant(before + after, "int64"), builder.constant(call["value"], source.dtype)]
    builder.add("Pad", reads, [builder.out(call.node)])
    return True


def gather(builder: Builder, call: Call) -> bool:
    rank = len(builder.seen(call.node).dims)
    builder.add(
        "GatherElements", [builder.read(call["self"]), builder.read(call["index"])], [builder.out(call.node)],
        axis=call["dim"] % max(rank, 1),
    )  # fmt: skip
    return True


def filled(value: Any, builder: Builder, call: Call) -> bool:
    """A small tensor of one number is a constant. value: the number, or the name of the argument that holds it."""
    import numpy as np

    seen = builder.seen(call.node)
    number = call.given.get(value) if isinstance(value, str) else value
    if seen.dtype not in NUMPY or prod(seen.dims) > MOST_CONSTANT or not isinstance(number, int | float | bool):
        return False
    builder.array(call.node, np.full(seen.dims, number, NUMPY[seen.dtype]))
    return True


def counted(builder: Builder, call: Call) -> bool:
    """aten::arange of few numbers."""
    import numpy as np

    seen = builder.seen(call.node)
    begin, step = call.given.get("start", 0), call.given.get("step", 1)
    if seen.dtype not in NUMPY or prod(seen.dims) > MOST_CONSTANT:
        return False
    builder.array(call.node, (begin + step * np.arange(seen.dims[0])).astype(NUMPY[seen.dtype]))
    return True


RULES: dict[str, Rule] = {
    **dict.fromkeys(FLAT, reshape),
    "permute": permute,
    "transpose": transpose,
    "t": transpose,
    "expand": expand,
    "slice": cut,
    "select": select,
    "split": split,
    "split_with_sizes": split,
    "cat": cat,
    "index_select": index_select,
    "index": index,
    "repeat": repeat,
    "constant_pad_nd": pad,
    "gather": gather,
    "full": partial(filled, "fill_value"),
    "zeros": partial(filled, 0),
    "ones": partial(filled, 1),
    "scalar_tensor": partial(filled, "s"),
    "arange": counted,
}
