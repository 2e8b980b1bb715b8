"""DistributedDataParallel(find_unused_parameters=True) and static_graph=True, in Python.

The reducer of torch takes page-locked memory in C++ for its map of used parameters, which the simulated device has not. So it is
told that all are used, and what it would do itself is done here:

1. After the forward pass the graph is walked from the outputs; parameters it does not reach hang on the outputs through a
   function that gives them no gradient. The reducer then finds them ready, with zeros for the other ranks.
2. When the backward pass is over, the ranks add up their maps. Gradients of parameters that no rank used are put back.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel
from torch.utils._pytree import tree_flatten, tree_unflatten

ASKED = "_npu_finds_unused"  # set on a module that was made with one of the two options


class Step:
    """One forward and backward pass: its parameters, and which of them the graph does not reach."""

    def __init__(self, parameters: list[Tensor], unused: list[Tensor], group: Any) -> None:
        self.parameters, self.unused, self.group = parameters, unused, group
        self.begun = False
        self.kept: list[tuple[Tensor, Tensor | None]] = []

    def begin(self) -> None:
        """The backward pass reaches the module: ask to be called at its end, before the reducer is."""
        if not self.begun:
            self.begun = True
            torch.autograd.Variable._execution_engine.queue_callback(self.add_up)

    def add_up(self) -> None:
        """The map of all ranks; the gradients of what nobody used as they are now."""
        left = {id(p) for p in self.unused}
        with torch.no_grad():
            used = torch.tensor([int(id(p) not in left) for p in self.parameters], dtype=torch.int32)
            used = used.to(self.parameters[0].device)
            dist.all_reduce(used, group=self.group)
            nobody = [p for p, count in zip(self.parameters, used.tolist(), strict=True) if count == 0]
            self.kept = [(p, None if p.grad is None else p.grad.clone()) for p in nobody]
        torch.autograd.Variable._execution_engine.queue_callback(self.put_back)

    def put_back(self) -> None:
        for parameter, gradient in self.kept:
            parameter.grad = gradient


class Sink(torch.autograd.Function):
    """The outputs as they are; parameters that hang on them get no gradient, and the step hears of the backward pass."""

    @staticmethod
    def forward(ctx: Any, step: Step, count: int, *tensors: Tensor) -> Any:
        ctx.step, ctx.rest = step, len(tensors) - count
        ctx.set_materialize_grads(False)
        return tuple(t.view_as(t) for t in tensors[:count])

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        ctx.step.begin()
        return None, None, *gradients, *[None] * ctx.rest


def reached(outputs: Iterable[Tensor]) -> set[int]:
    """Ids of the leaves behind some tensors."""
    todo = [t.grad_fn for t in outputs]
    seen: set[Any] = set()
    found: set[int] = set()
    while todo:
        node = todo.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable"):
            found.add(id(node.variable))
        todo += [following for following, _ in node.next_functions]
    return found


def attached(module: DistributedDataParallel, output: Any) -> Any:
    """The module's output with its unused parameters behind it."""
    leaves, form = tree_flatten(output)
    places = [n for n, leaf in enumerate(leaves) if isinstance(leaf, Tensor) and leaf.grad_fn is not None]
    if not places:
        return output
    outputs = [leaves[n] for n in places]
    parameters = [p for p in module._module_parameters if p.requires_grad]
    used = reached(outputs)
    step = Step(parameters, [p for p in parameters if id(p) not in used], module.process_group)
    for place, made in zip(places, Sink.apply(step, len(outputs), *outputs, *step.unused), strict=True):
        leaves[place] = made
    return tree_unflatten(leaves, form)


def install() -> None:
    """Modules with npu parameters are made without the two options and find out by themselves."""
    helper, post = DistributedDataParallel._ddp_init_helper, DistributedDataParallel._post_forward
    fixed = DistributedDataParallel._set_static_graph

    @functools.wraps(helper)
    def _ddp_init_helper(self: Any, parameters: list[Tensor], sparse: Any, names: Any, static_graph: bool) -> None:
        on_npu = bool(parameters) and parameters[0].device.type == "npu"
        if on_npu and (self.find_unused_parameters or static_graph):
            self.__dict__[ASKED] = True
            self.find_unused_parameters = static_graph = False
        helper(self, parameters, sparse, names, static_graph)

    @functools.wraps(post)
    def _post_forward(self: Any, output: Any) -> Any:
        if self.__dict__.get(ASKED) and torch.is_grad_enabled() and self.require_backward_grad_sync:
            output = attached(self, output)
        return post(self, output)

    @functools.wraps(fixed)
    def _set_static_graph(self: Any) -> None:
        if next(iter(self._module_parameters)).device.type == "npu":
            self.__dict__[ASKED] = True
        else:
            fixed(self)

    DistributedDataParallel._ddp_init_helper = _ddp_init_helper
    DistributedDataParallel._set_static_graph = _set_static_graph
    DistributedDataParallel._post_forward = _post_forward
