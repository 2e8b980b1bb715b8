"""Page-locked host memory of the framework: which CPU storages the copy engines can read and write by themselves."""

from __future__ import annotations

import weakref
from collections import Counter
from typing import Any

import torch
from torch import Tensor

from npu.runtime import process as processes
from npu.torch_npu import place


class Pins:
    """Pinned storages by the address of their bytes. cached: blocks whose tensor died, by size: the framework's host allocator
    rounds to powers of two and keeps them."""

    def __init__(self) -> None:
        self.by_address: dict[int, weakref.ref[torch.UntypedStorage]] = {}
        self.cached: Counter[int] = Counter()


def _pins() -> Pins:
    return processes.current().one(Pins)


def is_pinned(tensor: Tensor, device: Any = None) -> bool:
    """aten::is_pinned of a CPU tensor."""
    pins = _pins().by_address
    if not pins:
        return False
    found = pins.get(tensor.untyped_storage().data_ptr())
    return found is not None and found() is not None


def mark(tensor: Tensor) -> bool:
    """Count a CPU tensor's storage as pinned from now on; whether a cached block serves it."""
    storage = tensor.untyped_storage()
    address, size = storage.data_ptr(), 1 << max(storage.nbytes() - 1, 0).bit_length()
    pins = _pins()

    def gone(reference: weakref.ref[torch.UntypedStorage]) -> None:
        pins.cached[size] += 1
        if pins.by_address.get(address) is reference:
            del pins.by_address[address]

    pins.by_address[address] = weakref.ref(storage, gone)
    served = pins.cached[size] > 0
    pins.cached[size] -= served
    return served


def pin(tensor: Tensor, device: Any = None) -> Tensor:
    """aten::_pin_memory: a copy in pinned memory. Threads that never called the stack (those of a data loader) are on nobody's
    timeline, so pinning there costs the script nothing."""
    made = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype)
    made.copy_(tensor)
    if not mark(made) and processes.current().registered() is not None:
        with place.inside() as (process, thread):
            place.called(process, thread, "aclrtMallocHost", lambda: None)
    return made
