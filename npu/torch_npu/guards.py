"""What torch would look for in a device's C++ part, which this one has not: given another way, or refused before it is
reached."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import Tensor
from torch.jit._builtins import _register_builtin

from npu.torch_npu import api_device, devices, pinned, streams
from npu.torch_npu.kernels import device_index

PINNING = ("empty", "zeros", "ones", "full", "rand", "randn", "randint", "arange", "tensor", "empty_like", "zeros_like",
           "ones_like",
           "empty_strided", "full_like", "rand_like", "randn_like")  # fmt: skip


def _is_npu(device: Any) -> bool:
    return device is not None and not isinstance(device, int) and torch.device(device).type == "npu"


def _storages() -> None:
    """There is no allocator of storages in C++: they are those of tensors."""
    made, clone = torch.UntypedStorage.__new__, torch.UntypedStorage.clone

    def __new__(cls: Any, *args: Any, **named: Any) -> Any:
        if not _is_npu(named.get("device")):
            return made(cls, *args, **named)
        first = args[0] if args else 0
        content = list(first) if not isinstance(first, int) else first
        if isinstance(content, int):
            return torch.empty(content, dtype=torch.uint8, device=named["device"]).untyped_storage()
        return torch.tensor(content, dtype=torch.uint8, device=named["device"]).untyped_storage()

    def _clone(self: torch.UntypedStorage) -> torch.UntypedStorage:
        if self.device.type != "npu":
            return clone(self)
        return torch.empty(0, dtype=torch.uint8, device="npu").set_(self).clone().untyped_storage()

    def resize_(self: torch.UntypedStorage, size: int) -> Any:
        if self.device.type == "npu" and size != self.nbytes():
            raise RuntimeError(
                "the storage of an npu tensor cannot be resized in the simulation (FSDP does this); use DDP instead"
            )
        return resize(self, size)

    resize = torch.UntypedStorage.resize_
    for name, function in (("__new__", staticmethod(__new__)), ("clone", _clone), ("resize_", resize_)):
        setattr(torch.UntypedStorage, name, function)


def _location(storage: Any) -> str | None:
    return f"npu:{0 if storage.device.index is None else storage.device.index}" if storage.device.type == "npu" else None


def _restored(storage: Any, location: str) -> Any:
    """torch.load onto the device a location names."""
    if not str(location).startswith("npu"):
        return None
    number = device_index(location)
    api_device.checked(number)
    flat = torch.empty(0, dtype=torch.uint8).set_(
        storage if isinstance(storage, torch.UntypedStorage) else storage._untyped_storage
    )
    return flat.to(f"npu:{number}").untyped_storage()


def _generators() -> None:
    """Random numbers come from the CPU's generators."""
    original = torch.Generator

    class Meta(type):
        def __instancecheck__(cls, instance: object) -> bool:
            return isinstance(instance, original)

    class Generator(metaclass=Meta):
        def __new__(cls, device: Any = "cpu") -> Any:
            return original("cpu" if _is_npu(device) else device)

    Generator.__name__ = Generator.__qualname__ = "Generator"
    torch.Generator = Generator


def _pinning() -> None:
    """pin_memory=True of factories: C++ would ask the device's allocator."""
    for name in PINNING:
        original = getattr(torch, name)

        def factory(*args: Any, _original: Any = original, **named: Any) -> Any:
            if named.get("pin_memory") and not _is_npu(named.get("device")):
                named["pin_memory"] = False
                made = _original(*args, **named)
                pinned.mark(made)
                return made
            if not devices.in_use():
                return _original(*args, **named)
            with devices.chosen(named.get("device")):
                return _original(*args, **named)

        setattr(torch, name, functools.wraps(original)(factory))
        _register_builtin(getattr(torch, name), f"aten::{name}")  # for torch.jit.script it is the operator still


def _synchronize(original: Any) -> Any:
    def synchronize(device: Any = None, /) -> None:
        api_device.synchronize(None if device is None else device_index(device))

    return functools.wraps(original)(synchronize)


def _from_dlpack(original: Any) -> Any:
    """An npu tensor handed on through DLPack would be read as host memory: it is refused by its name."""

    def from_dlpack(ext_tensor: Any, *args: Any, **named: Any) -> Any:
        if isinstance(ext_tensor, Tensor) and ext_tensor.device.type == "npu":
            raise RuntimeError("DLPack exchange of npu tensors is not simulated; use .cpu() first")
        return original(ext_tensor, *args, **named)

    return functools.wraps(original)(from_dlpack)


def _deepcopied(original: Any) -> Any:
    """Tensor.__deepcopy__ copies the storage, which C++ would allocate: a copy of the tensor's own bytes instead."""

    def __deepcopy__(self: Tensor, memo: dict[int, Any]) -> Any:
        plain = type(self) in (Tensor, torch.nn.Parameter)
        if self.device.type != "npu" or id(self) in memo or not self.is_leaf or not plain:
            return original(self, memo)
        data = self.detach().clone(memory_format=torch.preserve_format)
        made = (
            torch.nn.Parameter(data, self.requires_grad)
            if isinstance(self, torch.nn.Parameter)
            else data.requires_grad_(self.requires_grad)
        )
        memo[id(self)] = made
        if self.grad is not None:
            made.grad = __deepcopy__(self.grad, memo)
        made.__dict__.update(self.__dict__)
        return made

    return functools.wraps(original)(__deepcopy__)


def install() -> None:
    _storages()
    _generators()
    _pinning()
    torch.serialization.register_package(1, _location, _restored)
    torch.accelerator.synchronize = _synchronize(torch.accelerator.synchronize)
    torch.Tensor.record_stream = streams.record_stream(torch.Tensor.record_stream)
    torch.from_dlpack = _from_dlpack(torch.from_dlpack)
    torch.Tensor.__deepcopy__ = _deepcopied(torch.Tensor.__deepcopy__)
