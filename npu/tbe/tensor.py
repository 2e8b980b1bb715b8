"""Tensors and the operations between them: a graph that says what is computed, without loops, tiles or places."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

from npu.cost.chip import itemsize
from npu.tbe.limits import TbeError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[Any]

_NUMBERS = count(1)
TYPES = ("float16", "float32", "int8", "uint8", "int16", "int32", "int64", "bool")


@dataclass(frozen=True, eq=False)
class Operation:
    """How a tensor comes from others. kind: elementwise | broadcast | reduce | cast | transpose | matmul.

    instruction: of the vector or cube unit, as a dump of the kernel names it; compute: the same in numpy.
    """

    kind: str
    name: str
    instruction: str
    inputs: tuple[Tensor, ...]
    compute: Callable[..., Array]
    attributes: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Tensor:
    """A tensor of a computation; operation None is a placeholder, an operand in global memory."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    operation: Operation | None = None

    @property
    def elements(self) -> int:
        return prod(self.shape)

    @property
    def bytes(self) -> int:
        return self.elements * itemsize(self.dtype)


def placeholder(shape: Sequence[int], name: str = "", dtype: str = "float16") -> Tensor:
    """An operand. TbeError: a dimension below 1, or a type the vector unit has no instructions for."""
    made = Tensor(name or f"placeholder_{next(_NUMBERS)}", tuple(int(d) for d in shape), dtype)
    if not made.shape or min(made.shape) < 1:
        raise TbeError(f"{made.name} has shape {made.shape}", "give at least one dimension, each 1 or more")
    if dtype not in TYPES:
        raise TbeError(f"{made.name} has type {dtype!r}", f"types are {', '.join(TYPES)}")
    return made


def made(operation: Operation, shape: Sequence[int], dtype: str) -> Tensor:
    """The result of an operation."""
    return Tensor(f"{operation.name}_{next(_NUMBERS)}", tuple(shape), dtype, operation)


def order(outs: Sequence[Tensor]) -> list[Tensor]:
    """All tensors an output depends on and itself, operands before results."""
    found: dict[Tensor, None] = {}
    waiting = [(t, False) for t in reversed(outs)]
    while waiting:
        tensor, done = waiting.pop()
        if tensor in found:
            continue
        if done or tensor.operation is None:
            found[tensor] = None
            continue
        waiting.append((tensor, True))
        waiting += [(t, False) for t in reversed(tensor.operation.inputs)]
    return list(found)


def evaluate(outs: Sequence[Tensor], feeds: Mapping[str, Array]) -> list[Array]:
    """The outputs by numpy, operation by operation; a schedule has no part in it. TbeError: an operand that does not fit."""
    import numpy as np

    values: dict[Tensor, Array] = {}
    for tensor in order(outs):
        if tensor.operation is not None:
            inputs = (values[t] for t in tensor.operation.inputs)
            values[tensor] = np.asarray(tensor.operation.compute(*inputs)).astype(tensor.dtype, copy=False)
            continue
        if tensor.name not in feeds:
            raise TbeError(f"there is no value for {tensor.name}", f"give one of shape {tensor.shape}, {tensor.dtype}")
        given = np.asarray(feeds[tensor.name])
        if (given.shape, given.dtype.name) != (tensor.shape, tensor.dtype):
            raise TbeError(
                f"{tensor.name} is {tensor.dtype} {tensor.shape} and was given {given.dtype.name} {given.shape}",
                "convert or reshape the array",
            )
        values[tensor] = given
    return [values[t] for t in outs]
