"""What the kernels of a chain handle: of a torch operator that starts several kernels no file says which tensors go where.

The results of an operator follow from its attributes; which operand a kernel takes follows from what it is for: indices are
narrowed, small tables are spread or joined, large tensors change layout.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import NamedTuple

from npu.cost.chip import itemsize

INDICES = ("int64", "int32")
C0_BYTES = 32  # a block of channels in NC1HWC0
VECTOR_BYTES = 256
BY_PLACE = ("AdaptiveAvgPool3d",)  # take their images with channels last, one place after the other
CHANNELS_LAST = ("adaptive_avg_pool_3d", "grid_sampler_3d")  # torch operators whose transpositions bring channels to the end
SWAPPED = ("apply_rotary_pos_emb",)  # and those that swap heads and places


class Tensor(NamedTuple):
    dims: tuple[int, ...]
    dtype: str

    @property
    def elements(self) -> int:
        return prod(self.dims)

    @property
    def bytes(self) -> int:
        return self.elements * itemsize(self.dtype)


def axis_of(attrs: Mapping[str, object], rank: int) -> int | None:
    """The axis an operator goes along, from 0; None where its attributes name none."""
    told = attrs.get("dim", attrs.get("axis"))
    if not isinstance(told, int) or not -rank <= told < rank:
        return None
    return told % rank


def results(op: str, tensors: Sequence[Tensor], attrs: Mapping[str, object]) -> list[Tensor]:
    """What a torch operator gives; () where neither its operands nor its attributes tell."""
    make = RESULTS.get(op)
    return make(tensors, attrs) if make is not None else []


def _along(tensors: Sequence[Tensor], attrs: Mapping[str, object]) -> list[Tensor]:
    """Places of extremes: one for each row."""
    dims = tensors[0].dims
    at = axis_of(attrs, len(dims))
    return [Tensor(tuple(d for i, d in enumerate(dims) if i != at), "int32")]


def _scanned(tensors: Sequence[Tensor], _attrs: Mapping[str, object]) -> list[Tensor]:
    return [tensors[0], Tensor(tensors[0].dims, "int32")]


def _gathered(tensors: Sequence[Tensor], _attrs: Mapping[str, object]) -> list[Tensor]:
    return [Tensor(tensors[1].dims, tensors[0].dtype)] if len(tensors) > 1 else []


def _sized(tensors: Sequence[Tensor], attrs: Mapping[str, object]) -> list[Tensor]:
    """Images of another size: output_size, or the scale of each side."""
    dims, size, scale = tensors[0].dims, attrs.get("output_size"), attrs.get("scale_factor")
    if isinstance(size, list):
        new = tuple(map(int, size))
    elif isinstance(scale, list):
        new = tuple(int(d * s) for d, s in zip(dims[-len(scale) :], scale, strict=True))
    else:
        return []
    return [Tensor((*dims[: -len(new)], *new), tensors[0].dtype)]


def _aligned(tensors: Sequence[Tensor], attrs: Mapping[str, object]) -> list[Tensor]:
    """Of each region a picture of so many rows and columns, all channels."""
    sides = tuple(int(str(attrs.get(n, 1))) for n in ("outputHeight", "outputWidth"))
    return [Tensor((tensors[1].dims[0], tensors[0].dims[1], *sides), tensors[0].dtype)]


def _rotated(tensors: Sequence[Tensor], _attrs: Mapping[str, object]) -> list[Tensor]:
    return list(tensors[:2])


def _sampled(tensors: Sequence[Tensor], _attrs: Mapping[str, object]) -> list[Tensor]:
    """Of each place of the grid all channels."""
    image, grid = tensors[:2]
    return [Tensor((*image.dims[:2], *grid.dims[1:-1]), image.dtype)]


Results = Callable[[Sequence[Tensor], Mapping[str, object]], list[Tensor]]
RESULTS: dict[str, Results] = {
    "arg_max": _along,
    "cummin": _scanned,
    "gather": _gathered,
    "resize_bilinear": _sized,
    "adaptive_avg_pool_3d": _sized,
    "roi_align": _aligned,
    "apply_rotary_pos_emb": _rotated,
    "grid_sampler_3d": _sampled,
}

TAKES = {"Add": 2, "Mul": 2, "Sub": 2, "Muls": 1, "Exp": 1, "RmsNorm": 1, "DynamicQuant": 1}

# kernel of a chain -> the order in which it takes operands and results, one each
ORDER: dict[str, Callable[[Tensor], float]] = {
    "Transpose": lambda t: -t.elements,
    "BroadcastTo": lambda t: t.elements,
    "RepeatInterleave": lambda t: t.elements,
    "RepeatInterleaveV2": lambda t: t.elements,
    "ConcatD": lambda t: t.elements,
    "TransData": lambda t: len(t.dims) < 4,  # images and filters
    "Slice": lambda t: 0,
    "TensorMove": lambda t: 0,
}


def handled(kernel: str, number: int, operands: Sequence[Tensor]) -> Tensor | None:
    """What the kernel of this number (from 0, among those of its name) takes; None for a kernel that takes all operands."""
    order = ORDER.get(kernel)
    if kernel == "Cast":  # what is of another type than the data: indices, masks
        order = lambda t: t.dtype == operands[0].dtype  # noqa: E731
    if order is None or not operands:
        return None
    return sorted(operands, key=order)[number % len(operands)]


def taken(kernel: str, operands: Sequence[Tensor]) -> Sequence[Tensor]:
    """The operands of a kernel that takes only some: a chain that adds five tensors does it two at a time."""
    return operands[: TAKES.get(kernel, len(operands))]


def walked(kernel: str, made: Sequence[Tensor], attrs: Mapping[str, object]) -> int:
    """Values a kernel reads to make its results, where these are not its operands: the neighbours of each place; 0 elsewhere."""
    if not made:
        return 0
    if kernel == "GridSample":
        sides = len(made[0].dims) - 2
        return made[0].elements * (1 if attrs.get("interpolation_mode") == "nearest" else 2**sides)
    if kernel == "ROIAlign":
        return made[0].elements * 4 * max(1, int(str(attrs.get("sampling_ratio", 1)))) ** 2
    if kernel in ("ResizeBilinearV2", "UpsampleBilinear2d"):
        return made[0].elements * 4
    return 0


def turned(op: str, rank: int) -> list[int]:
    """The order in which a torch operator's transposition leaves the axes: by default all of them turned round."""
    axes = list(range(rank))
    if op in CHANNELS_LAST and rank > 2:
        return [0, *axes[2:], 1]
    return [0, 2, 1, *axes[3:]] if op in SWAPPED and rank > 3 else axes[::-1]


def channels_last(tensor: Tensor) -> Tensor:
    """NC... as N...C, which is how some kernels take it."""
    n, c, *sides = tensor.dims
    return Tensor((n, *sides, c), tensor.dtype)


def in_vectors(tensor: Tensor) -> int:
    """Values a kernel passes that takes one place after the other, its channels in whole vectors of 256 bytes; channels last."""
    lanes = VECTOR_BYTES // itemsize(tensor.dtype)
    channels = tensor.dims[-1]
    return tensor.elements // channels * (-(-channels // lanes) * lanes)


def blocked(tensor: Tensor) -> Tensor:
    """An image with its channels filled up to whole blocks of 32 bytes, as NC1HWC0 holds it."""
    if len(tensor.dims) not in (4, 5):
        return tensor
    block = max(1, C0_BYTES // itemsize(tensor.dtype))
    n, c, *sides = tensor.dims
    return Tensor((n, -(-c // block) * block, *sides), tensor.dtype)
