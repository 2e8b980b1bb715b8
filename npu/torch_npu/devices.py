"""Several devices in one process. To torch's C++ every npu tensor is on npu:0; which device it is really on stands with its
memory,
and is what scripts see.

Done when a second device comes into use, so that scripts with one device keep torch's own properties: `Tensor.device` and
`get_device` answer with the logical device, `Tensor.to`, `npu` and `cuda`-like moves between two devices copy over their link,
with
their gradient the same way back.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from npu.runtime import process as processes
from npu.torch_npu import memory, place
from npu.torch_npu.flip import to_cpu, to_npu

_device = torch._C.TensorBase.device
_get_device, _to = torch._C.TensorBase.get_device, torch._C.TensorBase.to
_done = False


class Move(torch.autograd.Function):
    """A tensor on another device; its gradient goes back to where the tensor was."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, device: int) -> Tensor:
        ctx.origin = memory.device_of(processes.current(), tensor)
        return moved(tensor, device)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        return moved(gradient, ctx.origin), None


def moved(tensor: Tensor, device: int) -> Tensor:
    """A copy of an npu tensor in the memory of another device."""
    process, thread = place.enter()
    try:
        fresh = to_npu(torch.empty_like(to_cpu(tensor.detach())))
        memory.hold(process, thread, fresh, device, place.stream(process, thread, device).ordinal)
    finally:
        thread.clock.leave()
    with torch.no_grad():
        fresh.copy_(tensor.detach())
    return fresh


def _logical(tensor: Tensor) -> torch.device:
    found: torch.device = _device.__get__(tensor)
    if found.type != "npu":
        return found
    try:
        return torch.device("npu", memory.device_of(processes.current(), tensor))
    except RuntimeError:  # a tensor without memory of its own, as graphs are traced with: it is where torch says
        return found


def _number(tensor: Tensor) -> int:
    return memory.device_of(processes.current(), tensor) if tensor.device.type == "npu" else _get_device(tensor)


def _target(args: tuple[Any, ...], named: dict[str, Any]) -> torch.device | None:
    """The npu device that a call of Tensor.to names, with its number; None for any other call."""
    wanted = named.get("device", args[0] if args else None)
    if isinstance(wanted, Tensor):
        return wanted.device if wanted.device.type == "npu" else None
    if isinstance(wanted, int) and not isinstance(wanted, bool):
        return torch.device("npu", wanted)
    if not isinstance(wanted, str | torch.device):
        return None
    device = torch.device(wanted)
    if device.type != "npu":
        return None
    return torch.device("npu", place.seats.mine.device if device.index is None else device.index)


def _moved_to(tensor: Tensor, *args: Any, **named: Any) -> Tensor:
    """Tensor.to with the logical device as the target."""
    target = _target(args, named)
    if target is None:
        return _to(tensor, *args, **named)
    rest = {k: v for k, v in named.items() if k != "device"}
    others = args[1:] if args else ()
    if args and isinstance(args[0], Tensor):
        rest.setdefault("dtype", args[0].dtype)
    here = place.seats.mine
    before, here.device = here.device, target.index
    try:
        if tensor.device.type != "npu":
            return _to(tensor, "npu", *others, **rest)
        if tensor.device.index != target.index:
            tensor = Move.apply(tensor, target.index)
        return _to(tensor, "npu", *others, **rest)
    finally:
        here.device = before


def in_use() -> bool:
    """Whether a device other than npu:0 is."""
    return _done


@contextmanager
def chosen(device: Any) -> Iterator[None]:
    """A block in which a device that a factory names with its number is current; torch's C++ knows of one device only."""
    named = None if device is None or isinstance(device, int) else torch.device(device)
    if named is None or named.type != "npu" or named.index is None:
        yield
        return
    here = place.seats.mine
    before, here.device = here.device, named.index
    try:
        yield
    finally:
        here.device = before


def several() -> None:
    """A device other than npu:0 comes into use."""
    global _done
    if _done:
        return
    _done = True
    torch.Tensor.device = property(_logical)
    torch.Tensor.get_device = _number
    torch.Tensor.to = _moved_to
