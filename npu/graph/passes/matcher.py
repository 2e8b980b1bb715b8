"""Pattern matching on onnx-ir: a pattern is an expression tree of operators (Op), free values (Var) and constants (Const).

A Var that occurs twice must bind the same value, so a fork such as x * clip(x + 3) is a tree with a repeated Var.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

TOLERANCE = 1e-4  # relative: exporters write 1/6 as 0.16666667 or 0.1666


@dataclass(frozen=True, slots=True)
class Var:
    """Any value; the same name binds the same value."""

    name: str


@dataclass(frozen=True, slots=True)
class Const:
    """A constant; with `value`, one whose every element is that number."""

    value: float | None = None
    name: str = ""


@dataclass(frozen=True, slots=True)
class Op:
    """An operator of the default domain with these first inputs. commutes: the two inputs may be swapped."""

    types: tuple[str, ...]
    args: tuple[Op | Var | Const, ...]
    commutes: bool = False


@dataclass
class Match:
    """nodes from the root inwards, bound values by name."""

    nodes: list[Any] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)

    def fork(self) -> Match:
        return Match(list(self.nodes), dict(self.values))


def constant(value: Any) -> Any | None:
    """The array of a constant value, else None."""
    return value.const_value.numpy() if is_constant(value) else None


def is_constant(value: Any) -> bool:
    """Whether a value is constant; its array is not made."""
    return value is not None and value.const_value is not None and not value.is_graph_input()


def match(pattern: Op, node: Any) -> Match | None:
    """The first way to lay the pattern over the graph with its root on that node, or None."""
    return next(_node(pattern, node, Match()), None)


def _node(pattern: Op, node: Any, so_far: Match) -> Iterator[Match]:
    if node is None or node.domain not in ("", "ai.onnx") or node.op_type not in pattern.types:
        return
    if len(node.inputs) < len(pattern.args):
        return
    orders = [pattern.args]
    if pattern.commutes and len(pattern.args) == 2:
        orders.append(pattern.args[::-1])
    for args in orders:
        if not _possible(args, node.inputs):
            continue
        start = so_far.fork()
        if node not in start.nodes:
            start.nodes.append(node)
        yield from _inputs(args, list(node.inputs), start)


def _possible(args: tuple[Op | Var | Const, ...], values: Sequence[Any]) -> bool:
    """Whether operators and constants stand where the pattern wants some: most places fail on that, before anything is bound."""
    for wanted, value in zip(args, values, strict=False):
        if isinstance(wanted, Op):
            producer = None if value is None else value.producer()
            if producer is None or producer.op_type not in wanted.types:
                return False
        elif isinstance(wanted, Const) and not is_constant(value):
            return False
    return True


def _inputs(args: tuple[Op | Var | Const, ...], values: list[Any], so_far: Match) -> Iterator[Match]:
    if not args:
        yield so_far
        return
    for found in _value(args[0], values[0], so_far):
        yield from _inputs(args[1:], values[1:], found)


def _value(pattern: Op | Var | Const, value: Any, so_far: Match) -> Iterator[Match]:
    if isinstance(pattern, Op):
        if value is not None and value.index() == 0:
            yield from _node(pattern, value.producer(), so_far)
        return
    if value is None:
        return
    found = so_far.fork()
    if isinstance(pattern, Var):
        if found.values.setdefault(pattern.name, value) is value:
            yield found
        return
    if not is_constant(value):
        return
    if pattern.value is not None:
        array = constant(value)
        if array is None or array.size == 0 or array.dtype.kind not in "fiu":
            return
        if abs(array - pattern.value).max() > TOLERANCE * max(abs(pattern.value), 1.0):
            return
    if pattern.name:
        found.values[pattern.name] = value
    yield found


def escapes(nodes: list[Any], root: Any) -> str:
    """Why these nodes cannot become one: an inner result that is used outside or is a graph output. "" when they can."""
    inside = {id(n) for n in nodes}
    for node in nodes:
        if node is root:
            continue
        for value in node.outputs:
            if value.is_graph_output():
                return f"{value.name} is an output of the model"
            outside = [u for u in value.uses() if id(u.node) not in inside]
            if outside:
                return f"{value.name} is also used by {outside[0].node.name}"
    return ""
