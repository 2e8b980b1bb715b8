"""Operators nobody registered: torch computes them on the host, and the device sees the copies there and back."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from npu.torch_npu import launch, memory, place, waiting
from npu.torch_npu.flip import to_npu
from npu.torch_npu.kernels import plain_cpu

TOLD = ("CAUTION: The operator '{}' is not currently supported on the NPU backend and will fall back to run on the CPU. "
        "This may have performance implications.")  # fmt: skip
_told: set[str] = set()


def fallback(op: Any, *args: Any, **kwargs: Any) -> Any:
    """Run an operator on the CPU, as the framework does: inputs are read back, results are sent."""
    name = op._schema.name
    if "sparse" in name or any(isinstance(a, Tensor) and a.layout != torch.strided for a in args):
        raise NotImplementedError(
            f"{name}: sparse tensors are not simulated on the NPU; use dense ones, or the CPU for this part"
        )
    if name not in _told:
        _told.add(name)
        warnings.warn(TOLD.format(name), stacklevel=2)
    process, thread = place.enter()
    try:
        begun = thread.clock.now
        flat, spec = pytree.tree_flatten((args, kwargs))
        reads = [x for x in flat if isinstance(x, Tensor) and not x.is_cpu]
        device = memory.device_of(process, reads[0]) if reads else place.seats.mine.device
        where = place.stream(process, thread, device)
        with process.lock:
            for tensor in reads:
                waiting.copy(process, thread, where, "d2h", False, tensor.nbytes)
            if reads:
                waiting.synchronize(process, thread, where)
        back = {}
        for at, value in enumerate(flat):
            if isinstance(value, Tensor) and not value.is_cpu:
                flat[at] = plain_cpu(value)
                back[id(flat[at])] = value
            elif isinstance(value, torch.device):
                flat[at] = torch.device("cpu")
        given, named = pytree.tree_unflatten(flat, spec)
        results = op(*given, **named)

        def sent(value: Any) -> Any:
            if not isinstance(value, Tensor):
                return value
            if id(value) in back:
                return back[id(value)]
            made = to_npu(value)
            memory.hold(process, thread, made, device, where.ordinal)
            with process.lock:
                waiting.copy(process, thread, where, "h2d", False, value.nbytes)
            return made

        made = pytree.tree_map(sent, results)
        launch.marked(process, thread, name, begun)
        return made
    finally:
        thread.clock.leave()
