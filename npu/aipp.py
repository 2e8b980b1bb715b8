"""Picture preprocessing in front of a model (AIPP): its settings, the picture formats, and the sizes that follow from them.

What it does, in this order: swap channels, crop, resize, convert the colour space, (pixel - mean - min) * var_reci, pad.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

Four = tuple[float, float, float, float]
Box = tuple[int, int, int, int]

WIDTHS, HEIGHTS = (2, 4096), (1, 4096)  # of a picture, pixels
MOST_PADDING = 32  # pixels on a side
RESIZED, SCALES = (16, 1920), 16  # of a resized picture, pixels; how many times larger or smaller it may become
# Colour conversion of the documentation's templates: rows of the matrix, x 256
YUV_TO_BGR = (298, 516, 0, 298, -100, -208, 298, 0, 409)
RGB_TO_YUV = (66, 129, 25, -38, -74, 112, 112, -94, -18)
BIAS = (16, 128, 128)


class Picture(NamedTuple):
    """A picture format. number: of aclAippInputFormat; step: bytes from pixel to pixel of a row; rows: rows of bytes for two rows
    of pixels; even: width, height and crop offsets are even numbers."""

    number: int
    channels: int
    step: int
    rows: int
    even: bool = False


FORMATS = {
    "YUV420SP_U8": Picture(1, 3, 1, 3, True),
    "XRGB8888_U8": Picture(2, 4, 4, 2),
    "RGB888_U8": Picture(3, 3, 3, 2),
    "YUV400_U8": Picture(4, 1, 1, 2),
}


@dataclass(frozen=True, slots=True)
class Csc:
    """matrix: row by row, x 256. input_bias is taken off the channels of a YUV picture before, output_bias added to those of an
    RGB one after."""

    matrix: tuple[int, ...]
    input_bias: tuple[int, ...] = BIAS
    output_bias: tuple[int, ...] = BIAS


@dataclass(frozen=True, slots=True)
class Settings:
    """What is done to every picture. Sizes in pixels. crop: left, top, width, height; resize: width, height; padding: left,
    right, top, bottom; None where they are off. mean, min, var_reci: of the channels as they come out."""

    format: str
    width: int
    height: int
    crop: Box | None = None
    padding: Box | None = None
    padding_value: float = 0.0
    csc: Csc | None = None
    rbuv_swap: bool = False
    ax_swap: bool = False
    mean: Four = (0.0, 0.0, 0.0, 0.0)
    min: Four = (0.0, 0.0, 0.0, 0.0)
    var_reci: Four = (1.0, 1.0, 1.0, 1.0)
    resize: tuple[int, int] | None = None

    @property
    def bytes(self) -> int:
        """Of one picture."""
        kind = FORMATS[self.format]
        return self.height * kind.rows // 2 * self.width * kind.step

    @property
    def cut(self) -> tuple[int, int]:
        """Width and height of the part of the picture that is used."""
        return self.crop[2:] if self.crop else (self.width, self.height)

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of what comes out."""
        width, height = self.resize or self.cut
        left, right, top, bottom = self.padding or (0, 0, 0, 0)
        return width + left + right, height + top + bottom

    def channels(self) -> tuple[int, ...]:
        """How many channels can come out: the filling byte of XRGB only where the model takes four."""
        count = FORMATS[self.format].channels
        return (3, 4) if count == 4 and self.csc is None else (min(count, 3),)

    def check(self) -> None:
        """ValueError with the reason for settings that no picture can have."""
        kind = FORMATS.get(self.format)
        if kind is None:
            raise ValueError(f"input_format {self.format!r} is none of {', '.join(FORMATS)}")
        for name, value, (least, most) in (
            ("src_image_size_w", self.width, WIDTHS),
            ("src_image_size_h", self.height, HEIGHTS),
        ):
            if not least <= value <= most:
                raise ValueError(f"{name} is {value}, it must lie between {least} and {most}")
        if kind.even and (self.width % 2 or self.height % 2):
            raise ValueError(f"src_image_size_w and src_image_size_h must be even for {self.format}")
        if self.crop is not None:
            self._check_crop(self.crop, kind.even)
        for name, value, old in zip(("resize_output_w", "resize_output_h"), self.resize or (), self.cut, strict=False):
            if not RESIZED[0] <= value <= RESIZED[1]:
                raise ValueError(f"{name} is {value}, it must lie between {RESIZED[0]} and {RESIZED[1]}")
            if not old <= value * SCALES or not value <= old * SCALES:
                raise ValueError(f"{name} is {value}, more than {SCALES} times larger or smaller than the picture's {old}")
        if self.padding is not None and not all(0 <= p <= MOST_PADDING for p in self.padding):
            raise ValueError(f"padding sizes {self.padding} must lie between 0 and {MOST_PADDING}")
        if self.csc is not None:
            if kind.channels == 1:
                raise ValueError(f"csc_switch needs three channels, {self.format} has one")
            if (len(self.csc.matrix), len(self.csc.input_bias), len(self.csc.output_bias)) != (9, 3, 3):
                raise ValueError("the colour conversion needs 9 matrix values and 3 of each bias")
        if self.ax_swap and kind.channels != 4:
            raise ValueError(f"ax_swap_switch is for pictures of four channels, {self.format} has {kind.channels}")
        if self.rbuv_swap and kind.channels == 1:
            raise ValueError(f"rbuv_swap_switch needs three channels, {self.format} has one")

    def _check_crop(self, crop: Box, even: bool) -> None:
        left, top, width, height = crop
        if min(left, top) < 0 or min(width, height) < 1 or left + width > self.width or top + height > self.height:
            raise ValueError(
                f"the crop of {width} x {height} at ({left}, {top}) does not lie in the picture of {self.width} x {self.height}"
            )
        if even and any(v % 2 for v in crop):
            raise ValueError(f"load_start_pos and crop_size must be even for {self.format}")


@dataclass(frozen=True, slots=True)
class Aipp:
    """The preprocessing of one input of a model. dims: [N, C, H, W] that comes out, N -1 where it is open. settings: None where
    they come at run time (dynamic); largest: bytes the input can take then, over all its pictures, and pictures: how many those
    are at most, where the batch is one of several."""

    input: str
    dims: tuple[int, ...]
    settings: Settings | None = None
    largest: int = 0
    pictures: int = 0

    @property
    def count(self) -> int:
        """Of how many pictures there are settings."""
        return self.dims[0] if self.dims[0] > 0 else self.pictures

    def facts(self) -> dict[str, Any]:
        """As JSON types."""
        return asdict(self)


def _four(values: Any, kind: type) -> tuple[Any, ...]:
    a, b, c, d = values
    return kind(a), kind(b), kind(c), kind(d)


def read(facts: Mapping[str, Any]) -> Aipp:
    """The inverse of Aipp.facts. ValueError, KeyError or TypeError for facts that are none."""
    given = facts["settings"]
    settings = None
    if given is not None:
        parts: dict[str, Any] = dict(given)
        for name, kind in (("width", int), ("height", int), ("padding_value", float), ("rbuv_swap", bool), ("ax_swap", bool)):
            parts[name] = kind(parts[name])
        for name, kind in (("crop", int), ("padding", int), ("mean", float), ("min", float), ("var_reci", float)):
            if parts[name] is not None or name not in ("crop", "padding"):
                parts[name] = _four(parts[name], kind)
        if parts["csc"] is not None:
            parts["csc"] = Csc(**{n: tuple(int(v) for v in values) for n, values in parts["csc"].items()})
        if parts.get("resize") is not None:
            width, height = parts["resize"]
            parts["resize"] = int(width), int(height)
        settings = Settings(**parts)
        settings.check()
    dims, largest, pictures = tuple(int(d) for d in facts["dims"]), int(facts["largest"]), int(facts.get("pictures", 0))
    made = Aipp(str(facts["input"]), dims, settings, largest, pictures)
    if len(made.dims) != 4 or (settings is None and made.largest < 1):
        raise ValueError("preprocessing without a size")
    return made
