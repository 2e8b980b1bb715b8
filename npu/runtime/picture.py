"""Pictures in device memory: pixel formats, strides, sizes, and the planes of values in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from npu.errors import NpuError
from npu.runtime.process import Process
from npu.runtime.side import Side

if TYPE_CHECKING:
    from numpy import uint8
    from numpy.typing import NDArray

    Plane = NDArray[uint8]

# kinds of pictures -> how much coarser colour is across and down; None: there is none of its own
GRAY, HALF, WIDE, FULL, RGB = "400", "420", "422", "444", "rgb"
COARSER = {GRAY: (1, 1), HALF: (2, 2), WIDE: (2, 1), FULL: (1, 1), RGB: (1, 1)}


@dataclass(frozen=True)
class Format:
    """An acldvppPixelFormat. order: where U and V, or R, G, B (and a fourth value) lie within a pixel in memory."""

    kind: str
    order: str


FORMATS: dict[int, Format] = {
    0: Format(GRAY, ""),
    1: Format(HALF, "UV"),
    2: Format(HALF, "VU"),
    3: Format(WIDE, "UV"),
    4: Format(WIDE, "VU"),
    5: Format(FULL, "UV"),
    6: Format(FULL, "VU"),
    12: Format(RGB, "RGB"),
    13: Format(RGB, "BGR"),
    14: Format(RGB, "ARGB"),
    15: Format(RGB, "ABGR"),
    16: Format(RGB, "RGBA"),
    17: Format(RGB, "BGRA"),
}


class PicDesc:
    """A picture as a script describes it. Strides in bytes and rows; ret_code of the last job that wrote it."""

    def __init__(self) -> None:
        self.data = self.size = self.width = self.height = self.width_stride = self.height_stride = self.ret_code = 0
        self.format = 10000  # PIXEL_FORMAT_UNKNOWN


@dataclass
class Frame:
    """The values of a picture: planes[0] is luma (h, w) or colour (h, w, 3 in the order R, G, B), planes[1] U and V (h, w, 2)."""

    kind: str
    planes: list[Plane]

    @property
    def width(self) -> int:
        return int(self.planes[0].shape[1])

    @property
    def height(self) -> int:
        return int(self.planes[0].shape[0])


def format_of(number: int) -> Format:
    """NpuError invalid_param for a format the media engine here does not know."""
    if number not in FORMATS:
        raise NpuError("invalid_param", format=number, known=list(FORMATS))
    return FORMATS[number]


def aligned(value: int, step: int) -> int:
    """The smallest multiple of step that is not below value."""
    return -(-value // step) * step


def row_bytes(form: Format, width: int) -> int:
    """Bytes of a row of that many pixels in the first plane."""
    return width * len(form.order) if form.kind == RGB else width


def bytes_of(form: Format, width_stride: int, height_stride: int) -> int:
    """Bytes of a picture by its strides (bytes of a row, rows)."""
    plane = width_stride * height_stride
    across, down = COARSER[form.kind]
    if form.kind in (GRAY, RGB):
        return plane
    return plane + 2 * plane // (across * down)


def check(desc: PicDesc, what: str, across: int, down: int) -> Format:
    """The format of a picture whose sizes fit together. NpuError invalid_param says which rule is broken.

    across, down: what width stride (bytes) and height stride (rows) must be multiples of."""
    form = format_of(desc.format)
    if desc.data == 0 or desc.width == 0 or desc.height == 0:
        raise NpuError("invalid_param", picture=what, width=desc.width, height=desc.height, data=desc.data)
    coarse = COARSER[form.kind]
    if desc.width % coarse[0] or desc.height % coarse[1]:
        raise NpuError(
            "invalid_param", picture=what, width=desc.width, height=desc.height, reason=f"must be multiples of {coarse}"
        )
    least = row_bytes(form, desc.width)
    if desc.width_stride % across or desc.width_stride < least:
        raise NpuError(
            "invalid_param",
            picture=what,
            width_stride=desc.width_stride,
            reason=f"must be a multiple of {across} of at least {least}",
        )
    if desc.height_stride % down or desc.height_stride < desc.height:
        raise NpuError(
            "invalid_param", picture=what, height_stride=desc.height_stride,
            reason=f"must be a multiple of {down} of at least {desc.height}",
        )  # fmt: skip
    need = bytes_of(form, desc.width_stride, desc.height_stride)
    if desc.size < need:
        raise NpuError("invalid_param", picture=what, size=desc.size, reason=f"strides and format make {need} bytes")
    return form


def memory(process: Process, desc: PicDesc) -> Side:
    """The device memory of a picture. NpuError not_device_memory, overrun."""
    return Side(process, desc.data, desc.size, True)


def planes(buffer: Plane, desc: PicDesc, form: Format) -> list[Plane]:
    """Views of the planes within a flat array of a picture's bytes, in the order they have in memory."""
    width, height, stride, rows = desc.width, desc.height, desc.width_stride, desc.height_stride
    first = buffer[: stride * rows].reshape(rows, stride)
    if form.kind == RGB:
        depth = len(form.order)
        return [first[:height, : width * depth].reshape(height, width, depth)]
    luma = first[:height, :width]
    if form.kind == GRAY:
        return [luma]
    across, down = COARSER[form.kind]
    across_bytes = 2 * stride // across
    colour = buffer[stride * rows : stride * rows + across_bytes * (rows // down)].reshape(rows // down, across_bytes)
    return [luma, colour[: height // down, : 2 * (width // across)].reshape(height // down, width // across, 2)]


def read(side: Side, desc: PicDesc, form: Format) -> Frame:
    """The picture's values now."""
    import numpy as np

    found = planes(np.frombuffer(side.read(desc.size), np.uint8), desc, form)
    if form.kind == RGB:
        return Frame(RGB, [found[0][..., [form.order.index(c) for c in "RGB"]].copy()])
    if form.kind == GRAY:
        return Frame(GRAY, [found[0].copy()])
    return Frame(form.kind, [found[0].copy(), found[1][..., [form.order.index(c) for c in "UV"]].copy()])


def write(side: Side, desc: PicDesc, form: Format, frame: Frame) -> None:
    """Put values into a picture; bytes between its rows stay as they are."""
    import numpy as np

    stride, rows, height = desc.width_stride, desc.height_stride, desc.height
    data = np.frombuffer(bytearray(side.read(desc.size)), np.uint8)
    if form.kind == RGB:
        values = np.full((height, desc.width, len(form.order)), 255, np.uint8)
        for number, name in enumerate("RGB"):
            values[..., form.order.index(name)] = frame.planes[0][..., number]
        data[: stride * rows].reshape(rows, stride)[:height, : desc.width * len(form.order)] = values.reshape(height, -1)
    else:
        data[: stride * rows].reshape(rows, stride)[:height, : desc.width] = frame.planes[0]
        if form.kind != GRAY:
            across, down = COARSER[form.kind]
            wide = 2 * stride // across
            ordered = frame.planes[1][..., ["UV".index(c) for c in form.order]]
            target = data[stride * rows : stride * rows + wide * (rows // down)].reshape(rows // down, wide)
            target[: height // down, : 2 * (desc.width // across)] = ordered.reshape(height // down, -1)
    side.write(data.tobytes())
    desc.ret_code = 0
