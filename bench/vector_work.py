"""Work of vector kernels: what an operator does with its tensors, by its name, shapes and attributes.

An operator without an entry in npu/data/operator_families.csv takes the form its name suggests, and with it the generic constants
of that form.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import prod

from operands import Tensor, axis_of

from npu.cost import Work
from npu.cost.chip import itemsize
from npu.cost.errors import operators
from npu.cost.vector import INTEGERS
from npu.ops.axes import across, left_out, order_of, together

# What a name suggests, in this order: (part of the name, form).
SUGGESTED = (
    ("ConvTranspose", "vector"),
    ("Indexer", "vector"),
    ("Fill", "fill"),
    ("Zeros", "fill"),
    ("Ones", "fill"),
    ("MemSet", "fill"),
    ("Norm", "row"),
    ("Softmax", "row"),
    ("Reduce", "row"),
    ("reduction", "row"),
    ("Arg", "row"),
    ("TopK", "row"),
    ("Sort", "row"),
    ("Quant", "row"),
    ("Cum", "row"),
    ("Loss", "row"),
    ("Pool", "row"),
    ("NonZero", "row"),
    ("Unique", "row"),
    ("Segment", "row"),
    ("Trans", "layout"),
    ("Concat", "layout"),
    ("Slice", "layout"),
    ("Split", "layout"),
    ("Pad", "layout"),
    ("Gather", "layout"),
    ("Scatter", "layout"),
    ("Tile", "layout"),
    ("Broadcast", "layout"),
    ("Move", "layout"),
    ("Index", "layout"),
    ("Repeat", "layout"),
)
BY_INDEX = ("InplaceIndexAdd", "InplaceScatterAdd")
PAGED, PAGE = ("SparseFlashAttention", "LightningIndexer"), 128  # of a cache in blocks of 128 tokens they read what a table names
# Operators that have no vector kernel for some types: the AI CPU does them one value after the other.
ON_AICPU = {"TopK": INTEGERS, "InplaceIndexAdd": ("int64",), "ScatterElements": ("int64",)}
FILLERS = ("ZerosLike", "OnesLike", "Fill")  # of the tensor they are given only the shape counts
PICKS = ("Slice", "SliceD", "StridedSlice", "StridedSliceD", "GatherV2")  # read as much as they write, whatever the operand holds
WIDENED = {"float16": 4, "float32": 2, "int32": 4, "int64": 4}  # bytes of what a Cast usually makes of them


def shapes_of(text: str) -> list[tuple[int, ...]]:
    """'8,25;;4' -> [(8, 25), (), (4,)]: an empty shape is a scalar."""
    return [tuple(int(d) for d in part.split(",") if d) for part in text.split(";")]


def place(op: str) -> tuple[str, str]:
    """(form, family) of an operator; the family of one that is not listed is "other"."""
    if op in operators():
        return operators()[op]
    return next((form for part, form in SUGGESTED if part.lower() in op.lower()), "vector"), "other"


def _rows(op: str, form: str, tensors: list[Tensor], elements: int, attrs: Mapping[str, object]) -> int:
    """How many independent rows a kernel sees; elementwise ones see rows only where an operand is spread along the last axis,
    those that add up by an index as many as there are indices."""
    first = tensors[0]
    if op.startswith(BY_INDEX) and len(tensors) > 1:
        added, at = tensors[-1].dims, axis_of(attrs, len(tensors[0].dims))
        return max(1, prod(added[: at + 1]) if at is not None else tensors[1].elements)
    if "num_groups" in attrs:
        return first.dims[0] * int(str(attrs["num_groups"]))
    if form == "fill" or not first.dims or not first.dims[-1]:
        return 1
    if form == "vector" and not any(t.dims and t.dims[-1] == 1 < first.dims[-1] and t.elements > 1 for t in tensors[1:]):
        return 1
    return max(1, elements // first.dims[-1])


def _touched(op: str, tensors: list[Tensor]) -> list[Tensor]:
    """The operands a kernel walks over: one that updates a cache in place touches what it puts there, not the cache."""
    if "BlockUpdate" in op:
        return tensors[1:]
    if op in PAGED:
        return [t for t in tensors if not (len(t.dims) == 4 and t.dims[1] == PAGE)] if len(tensors) > 4 else tensors
    if "Cache" in op:
        return [t for t in tensors if t.elements <= max(tensors[0].elements, 1)]
    return tensors


def one_vector(row: Mapping[str, str], op: str, tensors: list[Tensor]) -> Work:
    """A kernel of the vector forms: the largest of inputs and outputs is its number of elements."""
    form, _ = place(op)
    attrs = json.loads(row["attrs"] or "{}")
    if tensors[0].dtype in ON_AICPU.get(op, ()):
        return Work("aicpu", op, tensors[0].dtype, (tensors[0].elements, 1), sum(t.bytes for t in tensors), 0)
    tensors = tensors[:1] if op == "Transpose" else tensors
    tensors = _touched(op, tensors)
    first = tensors[0]
    shapes = shapes_of(row["output_shapes"]) if row["output_shapes"] else [first.dims]
    size = itemsize(first.dtype)
    if op == "Cast":
        size = WIDENED.get(first.dtype, size)
    written = sum(prod(s) for s in shapes) * (1 if op.endswith("DynamicQuant") else size)
    if op.startswith(("Reduce", "LpNormReduce")) and not row["output_shapes"]:
        written = size
    if op in PICKS and row["output_shapes"]:
        picked = Tensor(shapes[0], first.dtype)
        return Work(form, op, first.dtype, (picked.elements, _rows(op, form, [picked], picked.elements, {})), written, written)
    elements = max(max(t.elements for t in tensors), max(prod(s) for s in shapes))
    rows = _rows(op, form, tensors, elements, attrs)
    if op == "Transpose" and len(first.dims) > 1:
        told = attrs.get("perm")
        order = tuple(map(int, told)) if isinstance(told, list) else order_of(first.dims, shapes[0])
        rows = max(1, elements // together(first.dims, order, size))
    if op == "TransData":
        rows = elements // _plane([t.dims for t in tensors] + shapes, elements)
    read = 0 if op in FILLERS else sum(t.bytes for t in tensors)
    walks = walk(op, form, attrs, first.dims, shapes[0] if row["output_shapes"] else ())
    if walks is not None:
        return Work("across", op, first.dtype, (elements, *walks), read, written)
    return Work(form, op, first.dtype, (elements, rows), read, written)


def walk(
    op: str, form: str, attrs: Mapping[str, object], dims: tuple[int, ...], result: tuple[int, ...]
) -> tuple[int, int] | None:
    """(rows, steps) of a row operator along an axis that is not the last, told by its attributes or by the shape that is left
    of a reduction; None for all others."""
    if form != "row" or len(dims) < 2 or "num_groups" in attrs:
        return None
    init = attrs.get("init")
    told = {"dim": init[0]} if isinstance(init, list) and init and op.endswith("_over_a_dimension") else attrs
    at = axis_of(told, len(dims))
    if at is None:
        return across(dims, left_out(dims, result)) if op.startswith("Reduce") and result else None
    if op.startswith("Cum"):  # brought to the front first where it is not there
        return 1, dims[at]
    return across(dims, (at,))


def _plane(shapes: list[tuple[int, ...]], elements: int) -> int:
    """Elements a change to blocks of channels moves together: an image of one channel, or the few taps of a filter."""
    return min((s[2] * s[3] for s in shapes if len(s) in (4, 5) and s[2] * s[3]), default=max(elements, 1))
