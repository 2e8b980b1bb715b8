"""What each value of an FX graph is: shape and type of tensors, numbers as they are, as one run on the CPU shows them."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor, fx

from npu.torch_npu.launch import NAMES
from npu.torch_npu.launch import seen as laid
from npu.torch_npu.work import Seen

# A tensor, several of them, or what is no tensor (a size, None)
Value = Any
Values = dict[fx.Node, Value]


def seen(value: Any) -> Value:
    """Of a result: its shape and type, without strides: every kernel of a planned graph writes its result contiguous."""
    if isinstance(value, Tensor):
        return Seen(NAMES.get(value.dtype, "int8"), tuple(map(int, value.shape)))
    if isinstance(value, list | tuple):
        return tuple(map(seen, value))
    return value


class Watched(fx.Interpreter):
    """Runs a graph and notes its values. Slower than the graph's own code, so done once for each set of shapes. laid: how the
    tensors lie, strides and all."""

    def __init__(self, module: fx.GraphModule) -> None:
        super().__init__(module)
        self.values: Values = {}
        self.laid: dict[fx.Node, Seen] = {}

    def run_node(self, n: fx.Node) -> Any:
        made = super().run_node(n)
        self.values[n] = seen(made)
        if isinstance(made, Tensor):
            self.laid[n] = laid(made)
        return made


def on_cpu(module: fx.GraphModule, flipped: Mapping[str, Any]) -> fx.GraphModule:
    """The same graph for the CPU: nothing in it names a device. flipped: its constants as CPU tensors."""
    graph = fx.Graph()
    kept: dict[fx.Node, fx.Node] = {}
    for node in module.graph.nodes:
        copied = kept[node] = graph.node_copy(node, kept.__getitem__)
        copied.args = tuple(map(_host, copied.args))
        copied.kwargs = {k: _host(v) for k, v in copied.kwargs.items()}
    made = fx.GraphModule(dict(flipped), graph)
    made.recompile()
    return made


def _host(value: Any) -> Any:
    return torch.device("cpu") if isinstance(value, torch.device) else value


def constants(module: fx.GraphModule) -> Iterator[tuple[str, Any]]:
    """Name and value of what a graph reads besides its inputs."""
    for node in module.graph.nodes:
        if node.op == "get_attr":
            found: Any = module
            for part in str(node.target).split("."):
                found = getattr(found, part)
            yield str(node.target), found


def plain(values: Values, argument: Any) -> Any:
    """An argument with nodes that are numbers replaced by what they were; tensors stay nodes."""
    if isinstance(argument, fx.Node):
        known = values.get(argument)
        return known if isinstance(known, int | float | bool) else argument
    if isinstance(argument, list | tuple):
        return [plain(values, a) for a in argument]
    return argument


def is_item(node: fx.Node) -> bool:
    """Whether a node takes one of several results."""
    return node.op == "call_function" and node.target is operator.getitem


class Watch(NamedTuple):
    """What one run showed of a graph. given: its tensor inputs as they lie; laid: every tensor as the CPU's kernels leave it."""

    values: Values
    given: dict[fx.Node, Seen]
    laid: dict[fx.Node, Seen]
