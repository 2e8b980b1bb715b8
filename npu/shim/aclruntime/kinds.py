"""The enumerations of the module `aclruntime`, and how a failed call of acl is raised."""

from __future__ import annotations

from enum import IntEnum

import acl

from npu.dtypes import DTYPES

NAMES = {number: name for name, (number, _, _) in DTYPES.items()}


class dtype(IntEnum):
    """Element types by their aclDataType numbers."""

    float32 = 0
    float16 = 1
    int8 = 2
    int32 = 3
    uint8 = 4
    int16 = 6
    uint16 = 7
    uint32 = 8
    int64 = 9
    uint64 = 10
    double = 11
    float64 = 11
    bool = 12

    def __str__(self) -> str:
        return f"dtype.{self.name}"

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)


class type(IntEnum):
    """Where a tensor lies."""

    memory_host = 0
    memory_device = 1
    memory_dvpp = 2


def checked(call: str, ret: int) -> None:
    """RuntimeError with the stack's own text when a call failed, as the real module raises."""
    if ret:
        raise RuntimeError(f"{call} failed, ret {ret}: {acl.get_recent_err_msg() or ''}")
