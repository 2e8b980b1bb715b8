"""torch_npu.contrib.transfer_to_npu: scripts written for cuda and nccl run on npu and hccl. Importing it is all they do.

Every door through which a device name enters torch (factories, to, load, autocast, generators, process groups) says npu where the
script says cuda, and torch.cuda answers for torch.npu.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

FACTORIES = ("arange", "as_tensor", "empty", "empty_like", "empty_strided", "eye", "full", "full_like", "linspace", "logspace",
             "ones",
             "ones_like", "rand", "rand_like", "randint", "randint_like", "randn", "randn_like", "randperm", "tensor",
             "tril_indices",
             "triu_indices", "zeros", "zeros_like", "load", "asarray", "autocast", "set_default_device")  # fmt: skip
METHODS = ("to", "new_empty", "new_full", "new_ones", "new_tensor", "new_zeros", "type")
# Of torch.cuda what has another name in torch.npu, or none there
RENAMED = {"get_device_capability": lambda device=None: (8, 0), "get_arch_list": list, "nvtx": None}
_done = False


def renamed(value: Any) -> Any:
    """ "cuda:1" -> "npu:1", also as a torch.device or in a map of locations; anything else as it is."""
    if isinstance(value, str):
        return "npu" + value[4:] if value == "cuda" or value.startswith("cuda:") else value
    if isinstance(value, _real_device):
        return value if value.type != "cuda" else _real_device("npu") if value.index is None else _real_device("npu", value.index)
    if isinstance(value, dict):
        return {renamed(k): renamed(v) for k, v in value.items()}
    return value


def _wrapped(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def call(*args: Any, **named: Any) -> Any:
        for key in ("device", "map_location", "device_type"):
            if key in named:
                named[key] = renamed(named[key])
        return original(*(renamed(a) if isinstance(a, str | _real_device) else a for a in args), **named)

    return call


_real_device = torch.device


class _Device(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, _real_device)


class device(metaclass=_Device):
    """torch.device that says npu for cuda."""

    def __new__(cls, *args: Any, **named: Any) -> Any:
        return _real_device(*(renamed(a) for a in args), **{k: renamed(v) for k, v in named.items()})


class _Generator(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, _real_generator)


_real_generator = torch.Generator


class Generator(metaclass=_Generator):
    """torch.Generator that says npu for cuda."""

    def __new__(cls, device: Any = "cpu") -> Any:
        return _real_generator(renamed(device))


def _class(original: Any) -> Any:
    """A class whose first argument may be a device name: the same class for isinstance, subclasses and all else."""

    class Renaming(original):
        def __init__(self, *args: Any, **named: Any) -> None:
            super().__init__(*(renamed(a) for a in args), **{k: renamed(v) for k, v in named.items()})

    Renaming.__name__, Renaming.__qualname__, Renaming.__module__ = original.__name__, original.__qualname__, original.__module__
    return Renaming


def _cuda() -> None:
    """torch.cuda answers with torch.npu where that has the name."""
    npu, cuda = torch.npu, torch.cuda
    for name in dir(npu):
        if not name.startswith("__") and name not in ("amp",):
            setattr(cuda, name, getattr(npu, name))
    for name, value in RENAMED.items():
        if value is not None:
            setattr(cuda, name, value)
    cuda.amp.GradScaler = _cuda_scaler
    cuda.amp.autocast = lambda enabled=True, dtype=torch.float16, cache_enabled=True: torch.amp.autocast(
        "npu", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled
    )
    for owner in (torch.Tensor, torch.nn.Module):
        owner.cuda = owner.npu
    torch.Tensor.is_cuda = torch.Tensor.is_npu


def _cuda_scaler(*args: Any, **named: Any) -> Any:
    return torch.amp.GradScaler("npu", *args, **named)


def _distributed() -> None:
    if not torch.distributed.is_available():
        return
    for name in ("init_process_group", "new_group"):
        original = getattr(torch.distributed, name)

        def call(*args: Any, _original: Any = original, **named: Any) -> Any:
            given = [a.replace("cuda:", "npu:").replace("nccl", "hccl") if isinstance(a, str) else a for a in args]
            if isinstance(named.get("backend"), str):
                named["backend"] = named["backend"].replace("cuda:", "npu:").replace("nccl", "hccl")
            return _original(*given, **named)

        setattr(torch.distributed, name, functools.wraps(original)(call))
    torch.distributed.is_nccl_available = lambda: True


def install() -> None:
    """Once a process."""
    global _done
    if _done:
        return
    _done = True
    torch.device = device
    torch.Generator = Generator
    for name in FACTORIES:
        original = getattr(torch, name)
        setattr(torch, name, _class(original) if name == "autocast" else _wrapped(original))
    for name in METHODS:
        setattr(torch.Tensor, name, _wrapped(getattr(torch.Tensor, name)))
    torch.nn.Module.to = _wrapped(torch.nn.Module.to)
    torch.amp.autocast = torch.autocast
    torch.amp.GradScaler = _class(torch.amp.GradScaler)
    _cuda()
    _distributed()
