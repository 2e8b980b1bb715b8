"""Operators that are one kernel forward and one backward on the device and several operators in torch. Their arithmetic,
gradients
included, is what torch computes on the CPU over the same bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from npu.torch_npu import launch, memory, place
from npu.torch_npu.flip import to_npu
from npu.torch_npu.kernels import plain_cpu
from npu.torch_npu.operators import find

Compute = Callable[..., Any]
Operands = Callable[[Sequence[Tensor]], list[Tensor]]


def sent(made: Sequence[Tensor | None], kind: str, shown: str, reads: Sequence[Tensor]) -> list[Tensor | None]:
    """Results as npu tensors, with the launch of the kernels of the operator `kind`. reads: what their cost depends on."""
    process, thread = place.enter()
    try:
        begun = thread.clock.now
        device = memory.device_of(process, reads[0])
        where = place.stream(process, thread, device)
        results: list[Tensor | None] = []
        for tensor in made:
            result = None if tensor is None else to_npu(tensor.contiguous())
            if result is not None:
                memory.hold(process, thread, result, device, where.ordinal)
            results.append(result)
        outs = [r for r in results if r is not None]
        launch.launch(process, thread, where, find(kind), shown, False, reads, outs, begun)
        return results
    finally:
        thread.clock.leave()


class Whole(torch.autograd.Function):
    """Arguments: kind, the framework's name, arithmetic, what its cost depends on, then the tensors. Results are always a
    tuple."""

    @staticmethod
    def forward(ctx: Any, kind: str, shown: str, compute: Compute, operands: Operands, *tensors: Tensor) -> Any:
        needed = ctx.needs_input_grad[4:]
        leaves = [
            plain_cpu(t.detach()).requires_grad_(need and t.is_floating_point()) for t, need in zip(tensors, needed, strict=True)
        ]
        with torch.set_grad_enabled(any(needed)):
            made = compute(*leaves)
        if launch.capture is not None:
            launch.capture.did(compute, [leaf.detach() for leaf in leaves], {}, made)
        made = made if isinstance(made, tuple) else (made,)
        ctx.kind, ctx.shown, ctx.operands, ctx.graph = kind, shown, operands, (leaves, made)
        ctx.save_for_backward(*tensors)
        results = sent([t.detach() for t in made], kind, shown, operands(tensors))
        ctx.mark_non_differentiable(*(r for r in results if r is not None and not r.is_floating_point()))
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> Any:
        if launch.capture is not None:
            raise RuntimeError(f"{ctx.shown}: its gradient inside a captured graph is not simulated; capture the forward pass")
        leaves, made = ctx.graph
        pairs = [(out, plain_cpu(g)) for out, g in zip(made, gradients, strict=True) if g is not None and out.requires_grad]
        wanted = [leaf for leaf in leaves if leaf.requires_grad]
        found = torch.autograd.Variable._execution_engine.run_backward(
            tuple(out for out, _ in pairs), tuple(g for _, g in pairs), True, False, tuple(wanted), allow_unreachable=True,
            accumulate_grad=False,
        )  # fmt: skip
        reads = ctx.operands(ctx.saved_tensors)
        results = iter(sent(found, f"{ctx.kind}_backward", f"{ctx.shown}_backward", reads))
        return (None, None, None, None, *(next(results) if leaf.requires_grad else None for leaf in leaves))


def whole(kind: str, shown: str, compute: Compute, tensors: Sequence[Tensor], operands: Operands = list) -> Any:
    """Run such an operator; always a tuple of results."""
    return Whole.apply(kind, shown, compute, operands, *tensors)


def into(
    kind: str, shown: str, compute: Compute, targets: Sequence[Tensor], tensors: Sequence[Tensor], operands: Operands = list
) -> Tensor:
    """Run an operator that writes existing tensors: compute(*tensors on the CPU) gives one value a target. The first target."""
    process, thread = place.enter()
    try:
        begun = thread.clock.now
        with torch.no_grad():
            given, held = list(map(plain_cpu, tensors)), list(map(plain_cpu, targets))

            def write(*values: Tensor) -> None:
                made = compute(*values)
                for target, value in zip(held, made if isinstance(made, tuple) else (made,), strict=True):
                    target.copy_(value)

            if launch.capture is not None:
                for target in held:
                    launch.capture.writes(target)
                launch.capture.did(write, given, {}, None)
            write(*given)
        where = place.stream(process, thread, memory.device_of(process, targets[0]))
        launch.launch(process, thread, where, find(kind), shown, False, operands(tensors), targets, begun)
        return targets[0]
    finally:
        thread.clock.leave()
