"""From an FX graph of ATen operators to the graph engine's form.

An operator with a rule (aten/) becomes ONNX nodes, which the passes know; any other takes a place of its own with the kernels the
framework launches for it one by one. Sizes and numbers are those of the run whose values are given.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import fx

from npu.om import Kernel
from npu.torch_npu.copies import MOVE
from npu.torch_npu.graph.aten.call import call_of
from npu.torch_npu.graph.aten.table import RULES
from npu.torch_npu.graph.builder import Builder
from npu.torch_npu.graph.values import Values, Watch, is_item
from npu.torch_npu.kernels import TRAINS, WINDOW_AT
from npu.torch_npu.operators import Operator, base, find
from npu.torch_npu.work import Seen, kernels

# What functionalisation calls operators that the table has under another name, with the variant it means.
FUNCTIONAL = {
    "_native_batch_norm_legit_functional": ("native_batch_norm", ""),
    "_native_batch_norm_legit_no_training": ("native_batch_norm", "eval"),
    "copy": ("copy_", ""),
    "bernoulli": ("bernoulli", ""),
}
STRIDED = ("matmul", "attention", "attention_backward")  # their kernels read operands as they lie
LOOKS = ("as_strided", "unbind", "split", "split_with_sizes", "diagonal", "unfold", "view_as_real", "view_as_complex", "expand",
         "permute", "transpose", "t", "select", "slice", "view", "unsqueeze", "squeeze", "alias", "detach")  # fmt: skip


class Translated(NamedTuple):
    """proto: a ModelProto whose value_info holds every value; own: place -> the framework's kernels for it; alone: names of
    operators that have no counterpart, with how often they occur."""

    proto: Any
    own: dict[str, tuple[Kernel, ...]]
    alone: dict[str, int]


def translate(graph: fx.Graph, watch: Watch, fuse: bool = True) -> Translated:
    """fuse: False keeps every operator as the framework has it."""
    builder, values = Builder(watch), watch.values
    written: list[str] = []
    outputs: list[str] = []
    for node in graph.nodes:
        builder.origin = node.name
        if node.op == "output":
            outputs = [builder.raw(n) for n in _leaves(node.args, values)]
        elif node.op == "call_function" and isinstance(node.target, torch._ops.OpOverload) and _made(values[node]):
            call = call_of(builder, node)
            rule = RULES.get(base(node.target._schema.name)) if fuse or base(node.target._schema.name) in LOOKS else None
            if rule is None or node.target._schema.is_mutable or not rule(builder, call):
                _alone(builder, node, call.given)
                if node.target._schema.is_mutable:
                    written.append(builder.raw(node))
    return Translated(builder.finished([*outputs, *written]), builder.own, dict(builder.alone))


def _leaves(args: Any, values: Values) -> list[fx.Node]:
    """The results that are computed: a view of an input is that input's memory."""
    found: list[fx.Node] = []
    fx.map_arg(args, found.append)
    return [n for n in found if _made(values[n]) and looked_at(n).op not in ("placeholder", "get_attr")]


def looked_at(node: fx.Node) -> fx.Node:
    """The value whose memory a view shows."""
    while node.op == "call_function" and isinstance(node.target, torch._ops.OpOverload) and base(node.target.name()) in LOOKS:
        source = node.args[0]
        if not isinstance(source, fx.Node):
            break
        node = source
    return node


def _made(value: Any) -> bool:
    """Whether a value is a tensor, or holds one."""
    return isinstance(value, Seen) or (isinstance(value, tuple) and any(isinstance(v, Seen) for v in value))


def operator_of(node: fx.Node, given: dict[str, Any]) -> Operator:
    """The framework's operator for a node, in the form its arguments ask for."""
    name = node.target._schema.name  # type: ignore[union-attr]
    plain, variant = FUNCTIONAL.get(base(name), (base(name), ""))
    if plain == "copy_":
        return MOVE
    schema = node.target._schema  # type: ignore[union-attr]
    if not variant:
        overload = schema.overload_name
        numbers = any(
            "Tensor" in str(a.type) and isinstance(given[a.name], int | float | bool) for a in schema.arguments if a.name in given
        )
        variant = "scalar" if numbers or "Scalar" in overload else "dim" if overload.startswith("dim") else ""
        trains = TRAINS.get(plain)
        if trains is not None and not trains(list(given.values())):
            variant = "eval"
    found, window = find(plain, variant), WINDOW_AT.get(plain)
    if window is None:
        return found
    sides = list(given.values())[window]
    return found._replace(window=sides[0] * sides[-1])


def _alone(builder: Builder, node: fx.Node, given: dict[str, Any]) -> None:
    """The kernels of an operator without a counterpart, in one place of the plan."""
    operator = operator_of(node, given)
    sources = [n for n in node.all_input_nodes if _made(builder.seen(n)) or is_item(n)]
    if operator.form in STRIDED:
        names = [builder.raw(looked_at(n)) for n in sources]
        ins = [builder.laid.get(n) or builder.seen(n) for n in sources]
    else:
        names = [builder.read(n) for n in sources]
        ins = [Seen(*builder.seen(n)[:2]) for n in sources]
    made = builder.seen(node)
    outs = [made] if isinstance(made, Seen) else [s for s in made if isinstance(s, Seen)]
    makes = [str(node)] if isinstance(made, Seen) else [f"{node}.{at}" for at, s in enumerate(made) if isinstance(s, Seen)]
    planned: tuple[Kernel, ...] = ()
    if operator.form != "none":
        builder.alone[base(node.target._schema.name)] += 1  # type: ignore[union-attr]
        planned = kernels(operator, ins, outs, builder.number())
    builder.place(node.name, names, makes, outs, planned)
