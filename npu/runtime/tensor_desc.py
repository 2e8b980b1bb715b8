"""Tensor descriptions: type, shape, format, and what else a single operator or an open shape needs to know."""

from __future__ import annotations

from math import prod

from npu.dtypes import DTYPES, NARROW
from npu.errors import NpuError

# aclDataType number -> element type of what a single operator takes; the narrow ones are for models only
NAMES = {number: name for name, (number, _, _) in DTYPES.items() if name not in NARROW and name != "complex128"}
MORE_SIZES = {17: 16.0, 29: 0.5, 30: 0.125, 33: 4.0, 34: 1.0, 35: 1.0, 36: 1.0, 37: 1.0}  # bytes of other types
UNKNOWN_RANK = -2  # a first dim of this value: not even the number of dims is known
MOST_DIMS = 128


def bytes_of(dtype: int) -> float:
    """Bytes of one element by aclDataType number; 0 for an unknown one."""
    return float(DTYPES[NAMES[dtype]][1]) if dtype in NAMES else MORE_SIZES.get(dtype, 0.0)


class TensorDesc:
    """storage_*: how the data lies in memory where that differs from the origin. ranges: [lo, hi] of open dims."""

    def __init__(self, dtype: int, dims: list[int], form: int) -> None:
        if len(dims) > MOST_DIMS or any(d < UNKNOWN_RANK for d in dims):
            raise NpuError("invalid_param", dims=dims)
        self.dtype, self.dims, self.format = dtype, list(dims), form
        self.name = ""
        self.storage_dims: list[int] | None = None
        self.storage_format: int | None = None
        self.ranges: list[list[int]] = []
        self.values: list[list[int]] = []
        self.address = 0
        self.placement = 0
        self.dynamic_input = ""
        self.constant: bytes | None = None

    @property
    def ranked(self) -> bool:
        return self.dims[:1] != [UNKNOWN_RANK]

    @property
    def elements(self) -> int:
        """Number of elements, 0 when a dim is open."""
        return 0 if any(d < 0 for d in self.dims) else prod(self.dims)

    @property
    def bytes(self) -> int:
        """Bytes of the data in its origin shape, 0 when a dim is open."""
        return int(self.elements * bytes_of(self.dtype))

    @property
    def element_type(self) -> str:
        """Name of the element type. NpuError invalid_param for one no tensor here can have."""
        if self.dtype not in NAMES:
            raise NpuError("invalid_param", dtype=self.dtype)
        return NAMES[self.dtype]

    def dim(self, index: int) -> int:
        """One dim. NpuError invalid_param beyond the last."""
        if not self.ranked or index >= len(self.dims):
            raise NpuError("invalid_param", index=index, count=len(self.dims) if self.ranked else 0)
        return self.dims[index]

    def range(self, index: int) -> list[int]:
        """[lo, hi] of a dim: as set, else the dim twice, else [1, -1] for an open one."""
        dim = self.dim(index)
        if index < len(self.ranges):
            return list(self.ranges[index])
        return [dim, dim] if dim >= 0 else [1, -1]
