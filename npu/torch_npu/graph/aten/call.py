"""One call of an ATen operator in an FX graph, as the rules see it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import fx

from npu.torch_npu.graph.builder import Builder
from npu.torch_npu.graph.values import Value, plain
from npu.torch_npu.work import Seen


@dataclass(frozen=True)
class Call:
    """node: of the FX graph; given: its arguments by the names of the schema, defaults filled in, sizes as numbers."""

    node: fx.Node
    given: dict[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.given[name]

    def only_first(self) -> bool:
        """Whether nobody reads any result but the first."""
        return all(user.args[1] == 0 for user in self.node.users)


Rule = Callable[[Builder, Call], bool]


def call_of(builder: Builder, node: fx.Node) -> Call:
    """Of a node whose target is an operator."""
    given = {}
    for at, argument in enumerate(node.target._schema.arguments):  # type: ignore[union-attr]
        if at < len(node.args):
            value: Any = node.args[at]
        else:
            value = node.kwargs.get(argument.name, argument.default_value)
        given[argument.name] = plain(builder.values, value)
    return Call(node, given)


def tensor(builder: Builder, value: Any) -> Seen | None:
    """The shape and type of an argument that is a tensor."""
    if not isinstance(value, fx.Node):
        return None
    seen: Value = builder.seen(value)
    return seen if isinstance(seen, Seen) else None
