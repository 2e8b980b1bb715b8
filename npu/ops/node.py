"""What an operator rule sees (Node with typed Operands) and what it answers (Lowered). Plain values, no onnx."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from npu.cost.work import Work
from npu.dtypes import DTYPES


@dataclass(frozen=True, slots=True)
class Operand:
    """An input or output of a node. dims hold -1 where open; dtype "" when it is no tensor (a sequence, an optional).

    ranked: False when not even the number of dims is known; dims is empty then.
    """

    name: str
    dtype: str
    dims: tuple[int, ...]
    constant: bool = False
    ranked: bool = True

    def held(self, dtype: str) -> Operand:
        """The same operand in another type (dataclasses.replace takes four times as long)."""
        return Operand(self.name, dtype, self.dims, self.constant, self.ranked)

    @property
    def elements(self) -> int:
        """Number of elements; an open dim counts as 1, so the figure is a lower bound then."""
        count = 1
        for dim in self.dims:
            count *= max(dim, 0) if dim != -1 else 1
        return count

    @property
    def element_bytes(self) -> float:
        return float(DTYPES[self.dtype][1]) if self.dtype in DTYPES else 4.0

    @property
    def bytes(self) -> int:
        return int(self.elements * self.element_bytes)


@dataclass(frozen=True, slots=True)
class Node:
    """An ONNX node with known types. inputs hold None where an optional input is left out."""

    name: str
    op_type: str
    inputs: tuple[Operand | None, ...]
    outputs: tuple[Operand, ...]
    attributes: Mapping[str, object]
    domain: str = ""

    @property
    def given(self) -> tuple[Operand, ...]:
        return tuple(i for i in self.inputs if i is not None)

    def ints(self, name: str) -> tuple[int, ...]:
        value = self.attributes.get(name)
        return tuple(int(v) for v in value) if isinstance(value, Iterable) and not isinstance(value, str | bytes) else ()

    def number(self, name: str, default: int) -> int:
        value = self.attributes.get(name)
        return int(value) if isinstance(value, int | float) else default

    def text(self, name: str, default: str) -> str:
        value = self.attributes.get(name)
        return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value) if isinstance(value, str) else default


@dataclass(frozen=True, slots=True)
class Stored:
    """A tensor as it lies in device memory: storage dims and format, as profiles print them."""

    dims: tuple[int, ...]
    format: str
    dtype: str


@dataclass(frozen=True, slots=True)
class Lowered:
    """The kernel a node becomes. scratch: bytes of workspace while it runs. stored: input index -> storage other than origin."""

    op_type: str
    work: Work
    scratch: int = 0
    stored: Mapping[int, Stored] | None = None

    @property
    def computes(self) -> bool:
        """True where the kernel changes values, so that its result is rounded to the working precision; False for moves."""
        return self.work.form not in ("layout", "fill")


class Misfit(Exception):
    """Operands that do not fit each other, which onnx's shape inference lets pass."""

    def __init__(self, node: str, reason: str) -> None:
        super().__init__(f"{node}: {reason}")
        self.node, self.reason = node, reason


Lower = Callable[[Node], Lowered | None]
