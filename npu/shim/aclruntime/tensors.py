"""Arrays on the host and in device memory, and the times of the copies between them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import acl
import numpy as np

from npu.dtypes import DTYPES
from npu.shim.aclruntime.kinds import checked, dtype, type

H2D, D2H = 1, 2
MOST_DEVICES = 255
ON_HOST = -1  # device of a tensor that lies on the host


class MemorySummary:
    """Times of all copies of this process, ms."""

    _h2d: list[float] = []  # noqa: RUF012 - one list for the process, as in the real module
    _d2h: list[float] = []  # noqa: RUF012

    @property
    def H2D_time_list(self) -> list[float]:
        return list(self._h2d)

    @property
    def D2H_time_list(self) -> list[float]:
        return list(self._d2h)

    def reset(self) -> None:
        self._h2d.clear()
        self._d2h.clear()


class BaseTensor:
    """Memory somebody else owns: a host address and its bytes."""

    def __init__(self, address: int, size: int) -> None:
        self.buf, self.size = address, size


class Tensor:
    """A copy of an array: on the host, or in device memory after to_device. numpy.array(tensor) gives its values while it is on
    the host and raises RuntimeError while it is not."""

    def __init__(self, array: Any) -> None:
        self.array = np.array(array, order="C")
        self.bytes = self.array.nbytes
        self.address = 0
        self.device = ON_HOST
        self._dvpp = False

    @classmethod
    def empty(cls, shape: Sequence[int], kind: Any, size: int, device: int) -> Tensor:
        """A tensor of that many bytes in device memory. RuntimeError when there is none left."""
        made = cls(np.empty(0, kind))
        made.array, made.bytes = np.empty(tuple(shape), kind), size
        made._allocate(device)
        return made

    @property
    def shape(self) -> list[int]:
        return list(self.array.shape)

    @property
    def dtype(self) -> dtype:
        """uint8 for element types that have no number here, as the real module takes them."""
        return dtype(DTYPES.get(self.array.dtype.name, DTYPES["uint8"])[0])

    @property
    def type(self) -> type:
        return type.memory_host if self.device == ON_HOST else type.memory_dvpp if self._dvpp else type.memory_device

    def to_device(self, device_id: int) -> None:
        """Copy to the device; a second call does nothing. RuntimeError for a device that is not there."""
        self._go(device_id, dvpp=False)

    def to_dvpp(self, device_id: int) -> None:
        """Copy to memory of the media engine."""
        self._go(device_id, dvpp=True)

    def to_host(self) -> None:
        """Copy back from the device and give its memory back."""
        if self.device == ON_HOST:
            return
        size = min(self.bytes, self.array.nbytes)
        begun = time.perf_counter()
        checked("aclrtMemcpy", acl.rt.memcpy(_host(self.array), size, self.address, size, D2H))
        MemorySummary._d2h.append((time.perf_counter() - begun) * 1000)
        self.free()

    def free(self) -> None:
        if self.device != ON_HOST:
            (acl.media.dvpp_free if self._dvpp else acl.rt.free)(self.address)
            self.address, self.device = 0, ON_HOST

    def shaped(self, shape: Sequence[int]) -> None:
        """Take another shape of the same element type, once it is known what a run has written."""
        self.array = np.empty(tuple(shape), self.array.dtype)
        self.bytes = self.array.nbytes

    def _go(self, device_id: int, *, dvpp: bool) -> None:
        if self.device != ON_HOST:
            return
        if not 0 <= device_id <= MOST_DEVICES:
            raise RuntimeError("device id is out of range")
        checked("aclrtSetDevice", acl.rt.set_device(device_id))
        self._allocate(device_id, dvpp=dvpp)
        begun = time.perf_counter()
        checked("aclrtMemcpy", acl.rt.memcpy(self.address, self.bytes, _host(self.array), self.bytes, H2D))
        MemorySummary._h2d.append((time.perf_counter() - begun) * 1000)

    def _allocate(self, device_id: int, *, dvpp: bool = False) -> None:
        size = max(1, self.bytes)
        self.address, ret = acl.media.dvpp_malloc(size) if dvpp else acl.rt.malloc(size, 0)
        checked("acldvppMalloc" if dvpp else "aclrtMalloc", ret)
        self.device, self._dvpp = device_id, dvpp

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if self.device != ON_HOST:
            raise RuntimeError("tensor is in npu. can't convert to numpy array")
        return self.array if dtype is None else self.array.astype(dtype)

    def __len__(self) -> int:
        return len(self.array)

    def __repr__(self) -> str:
        where = "cpu" if self.device == ON_HOST else str(self.device)
        return f"<Tensor>\nshape:\t{self.array.shape}\ndtype:\t{self.dtype.name}\ndevice:\t{where}"

    def __del__(self) -> None:
        self.free()


def _host(array: Any) -> int:
    return int(array.__array_interface__["data"][0])


def batch(inputs: Sequence[Any], keep_dims: bool = False) -> Tensor:
    """Tensors as one along the first axis; keep_dims: as a new first axis."""
    arrays = [np.array(i) for i in inputs]
    return Tensor(np.stack(arrays) if keep_dims else np.concatenate(arrays))
