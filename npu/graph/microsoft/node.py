"""A node as a rule of shape inference sees it, and the arithmetic of dims that the rules share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Dims = tuple[int | str | None, ...]  # a size, the name of an open one, or None


class Node:
    """A node as shape inference shows it: types of inputs, attributes, and where the types of its outputs go."""

    def __init__(self, context: Any) -> None:
        self.context = context

    def type(self, at: int) -> int:
        """Element type number of an input, 0 when unknown or left out."""
        return int(self._tensor(at).elem_type) if self.has(at) else 0

    def dims(self, at: int) -> Dims | None:
        """The dims of an input; None when not even their number is known."""
        tensor = self._tensor(at) if self.has(at) else None
        if tensor is None or not tensor.HasField("shape"):
            return None
        return tuple(d.dim_value if d.HasField("dim_value") else d.dim_param or None for d in tensor.shape.dim)

    def has(self, at: int) -> bool:
        return at < self.context.get_num_inputs() and bool(self.context.has_input(at)) and self._type(at) is not None

    def number(self, name: str, default: int) -> int:
        given = self.context.get_attribute(name)
        return int(given.i) if given is not None else default

    def numbers(self, name: str) -> tuple[int, ...] | None:
        given = self.context.get_attribute(name)
        return tuple(given.ints) if given is not None and given.ints else None

    def text(self, name: str) -> str:
        given = self.context.get_attribute(name)
        return given.s.decode() if given is not None else ""

    def give(self, element: int, dims: Iterable[int | str | None] | None, at: int = 0) -> None:
        """The type of an output; nothing where the node has none there."""
        from onnx import helper

        if element and at < self.context.get_num_outputs():
            self.context.set_output_type(at, helper.make_tensor_type_proto(element, None if dims is None else list(dims)))

    def _type(self, at: int) -> Any:
        found = self.context.get_input_type(at)
        return found if found is not None and found.HasField("tensor_type") else None

    def _tensor(self, at: int) -> Any:
        return self._type(at).tensor_type


def meet(a: Dims | None, b: Dims | None) -> Dims | None:
    """Broadcast: missing leading dims and ones take the other's size."""
    if a is None or b is None:
        return None
    wide = max(len(a), len(b))
    pairs = zip((1,) * (wide - len(a)) + a, (1,) * (wide - len(b)) + b, strict=True)
    return tuple(y if x == 1 else x if y == 1 or x == y else None for x, y in pairs)


def product(a: Dims | None, b: Dims | None) -> Dims | None:
    """The dims of a matrix product of at least two dims each."""
    if a is None or b is None or len(a) < 2 or len(b) < 2:
        return None
    lead = meet(a[:-2], b[:-2])
    return None if lead is None else (*lead, a[-2], b[-1])


def turned(dims: Dims | None, swap: bool) -> Dims | None:
    return dims if dims is None or not swap or len(dims) < 2 else (*dims[:-2], dims[-1], dims[-2])


def windows(n: Node, planes: Dims, kernel: tuple[int, ...]) -> Dims:
    """The sizes that a kernel moved over planes gives (the formula of onnx's Conv and pools)."""
    count = len(planes)
    strides, dilations = n.numbers("strides") or (1,) * count, n.numbers("dilations") or (1,) * count
    pads, auto = n.numbers("pads") or (0,) * (2 * count), n.text("auto_pad")
    made: list[int | None] = []
    for at, size in enumerate(planes):
        if not isinstance(size, int):
            made.append(None)
        elif auto.startswith("SAME"):
            made.append(-(-size // strides[at]))
        else:
            room = size + pads[at] + pads[at + count] - dilations[at] * (kernel[at] - 1) - 1
            room = room if auto != "VALID" else size - dilations[at] * (kernel[at] - 1) - 1
            made.append((-(-room // strides[at]) if n.number("ceil_mode", 0) else room // strides[at]) + 1)
    return tuple(made)


def added(a: int | str | None, b: int | str | None) -> int | None:
    return a + b if isinstance(a, int) and isinstance(b, int) else None
