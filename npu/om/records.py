"""What a model file holds, as records: inputs and outputs, kernels, the whole model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from npu.aipp import Aipp
from npu.cost.work import Work
from npu.dtypes import tensor_bytes


class BadModel(Exception):
    """Not a model file of ours, or a damaged one. `reason` says which check failed."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path, self.reason = path, reason


@dataclass(frozen=True, slots=True)
class Tensor:
    """An input or output. dims hold -1 where they are open; dtype is a key of DTYPES, format one of FORMATS.

    picture: bytes of one picture where the input takes pictures (static AIPP), dims [N, H, W, C]; 0 for others."""

    name: str
    dtype: str
    dims: tuple[int, ...]
    format: str = "ND"
    picture: int = 0

    def laid(self, dims: tuple[int, ...]) -> tuple[int, ...]:
        """The dims of the data for dims as scripts see them: pictures are rows of bytes (YUV420SP: half as many as dims say)."""
        return (dims[0], self.picture) if self.picture else dims

    @property
    def bytes(self) -> int:
        """Bytes of the tensor in its origin shape; 0 when a dim is open and for texts."""
        return tensor_bytes(self.laid(self.dims), self.dtype)


@dataclass(frozen=True, slots=True)
class Kernel:
    """One planned kernel. Shapes are texts as profiles print them ("1,3,224,224;64,3,7,7"), in storage formats."""

    name: str
    op_type: str
    work: Work
    in_shapes: str = ""
    in_dtypes: str = ""
    in_formats: str = ""
    out_shapes: str = ""
    out_dtypes: str = ""
    out_formats: str = ""
    origin: str = ""  # names of the original nodes, joined by "+"
    stream: int = 0


@dataclass(frozen=True, slots=True)
class Model:
    """All of a model file but its arithmetic. memory: bytes of feature_map, weights, workspace, and what reuse saved.

    build: cann (version of the converter), command, precision_mode, fusion {pass: times}, time. gears: [] or the fixed
    shapes, each {input name: dims}. lifetimes: what lies in the feature map, (name of the kernel that makes it, first and last
    step that needs it, bytes). sha256 is of the file without its metadata digest, checked before arithmetic.
    """

    soc: str
    build: dict[str, Any]
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    kernels: tuple[Kernel, ...]
    memory: dict[str, int] = field(default_factory=dict)
    gears: tuple[dict[str, tuple[int, ...]], ...] = ()
    dynamic: bool = False  # launched kernel by kernel instead of as one sunk task list
    gear_kernels: tuple[tuple[Kernel, ...], ...] = ()  # the task list of each gear; `kernels` is that of the largest
    planned: dict[str, tuple[int, ...]] = field(default_factory=dict)  # dynamic: the input shapes the Work of `kernels` is for
    events: tuple[tuple[int, int], ...] = ()  # (kernel that records, kernel that waits) where they lie on two streams
    aipp: tuple[Aipp, ...] = ()  # preprocessing of inputs
    lifetimes: tuple[tuple[str, int, int, int], ...] = ()
