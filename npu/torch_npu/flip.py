"""The same bytes as a tensor of the other device: a DLPack capsule whose device field is changed on the way.

A capsule points to a DLManagedTensor whose DLTensor begins with the data pointer (8 bytes) and the device: two int32, type and
number (dlpack.h). (1, 0) is the CPU, (12, 0) the extension device, which torch takes for PrivateUse1. Nothing is copied: the
tensor
that was packed lives as long as the one made of it, and they share their bytes.
"""

from __future__ import annotations

import ctypes
from typing import Any

import torch
from torch import Tensor

_pack, _unpack = torch._C._to_dlpack, torch._C._from_dlpack
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
_at = ctypes.c_int64.from_address
DEVICE_AT = 8  # bytes into the DLTensor
CPU, NPU = 1, 12  # DLDeviceType kDLCPU, kDLExtDev; the number 0 is in the upper half


def to_cpu(tensor: Tensor) -> Tensor:
    """An npu tensor as a CPU tensor over the same bytes, with its strides; lazy conjugation is resolved by the caller."""
    capsule: Any = _pack(tensor)
    _at(_pointer(capsule, b"dltensor") + DEVICE_AT).value = CPU
    made: Tensor = _unpack(capsule)
    return made


def to_npu(tensor: Tensor) -> Tensor:
    """A CPU tensor as an npu tensor over the same bytes."""
    capsule: Any = _pack(tensor)
    _at(_pointer(capsule, b"dltensor") + DEVICE_AT).value = NPU
    made: Tensor = _unpack(capsule)
    return made
