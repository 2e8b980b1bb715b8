"""Settings of dynamic image preprocessing: checked as they come in, made whole when they go to a model, applied when it runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from npu.aipp import FORMATS as PICTURES
from npu.aipp import Aipp as Wanted
from npu.aipp import Csc, Settings
from npu.errors import NpuError

if TYPE_CHECKING:
    from numpy.typing import NDArray

FORMATS = range(1, 11)  # aclAippInputFormat, without the raw ones
MOST_BATCHES = 128
WIDTH = (2, 4096)
EVEN = (1, 8, 9)  # YUV420SP, YUYV, YUV422SP: two pixels share colour


class Aipp:
    """values: setting -> (switch, numbers, batch)."""

    def __init__(self, batches: int) -> None:
        if not 1 <= batches <= MOST_BATCHES:
            raise NpuError("invalid_param", batch=batches)
        self.batches = batches
        self.format = 0
        self.size = (0, 0)
        self.values: dict[tuple[str, int], tuple[int, tuple[float, ...]]] = {}

    def set_format(self, form: int) -> None:
        if form not in FORMATS:
            raise NpuError("invalid_param", format=form)
        self.format = form

    def set_size(self, width: int, height: int) -> None:
        """The size of the source image. NpuError invalid_param for one the format cannot have."""
        if not WIDTH[0] <= width <= WIDTH[1] or height < 1 or (self.format in EVEN and width % 2):
            raise NpuError("invalid_param", width=width, height=height, format=self.format)
        self.size = width, height

    def keep(self, name: str, switch: int, numbers: Sequence[float], batch: int = 0) -> None:
        """Take a setting. NpuError invalid_param for a switch that is none and a batch that there is not."""
        if switch not in (0, 1) or batch >= self.batches:
            raise NpuError("invalid_param", setting=name, switch=switch, batch=batch, batches=self.batches)
        self.values[name, batch] = (switch, tuple(numbers))

    def _on(self, name: str, batch: int = 0) -> tuple[float, ...] | None:
        """The numbers of a setting that is switched on, None for one that is off or was never set."""
        switch, numbers = self.values.get((name, batch), (0, ()))
        return numbers if switch else None

    def settings(self, batch: int) -> Settings:
        """What is done to one picture. ValueError with the reason where that cannot be."""
        name = next((n for n, p in PICTURES.items() if p.number == self.format), f"number {self.format}")
        csc, crop, padding = self._on("csc"), self._on("crop", batch), self._on("padding", batch)
        made = Settings(
            name,
            *self.size,
            crop=_four_whole(crop) if crop is not None else None,
            padding=_four_whole((padding[2], padding[3], padding[0], padding[1])) if padding is not None else None,
            csc=_csc(csc) if csc is not None else None,
            rbuv_swap=self._on("rbuv_swap") is not None,
            ax_swap=self._on("ax_swap") is not None,
            mean=_four(self._on("mean", batch), 0.0),
            min=_four(self._on("min", batch), 0.0),
            var_reci=_four(self._on("var_reci", batch), 1.0),
        )
        made.check()
        return made

    def fitted(self, wanted: Wanted) -> tuple[Settings, ...]:
        """The settings of every picture of an input. NpuError invalid_param where they do not give what the model takes."""
        channels = wanted.dims[1]
        if self.batches != wanted.count:
            raise NpuError("invalid_param", batch=self.batches, model_batch=wanted.count)
        try:
            made = tuple(self.settings(batch) for batch in range(self.batches))
        except ValueError as error:
            raise NpuError("invalid_param", input=wanted.input, reason=str(error)) from error
        for each in made:
            other = any(d not in (s, -1) for d, s in zip(wanted.dims[2:], each.size[::-1], strict=True))
            if other or channels not in each.channels():
                makes = (*each.channels(), *each.size[::-1])
                raise NpuError("invalid_param", input=wanted.input, makes=makes, wanted=wanted.dims)
        if sum(m.bytes for m in made) > wanted.largest:
            raise NpuError("invalid_param", picture_bytes=sum(m.bytes for m in made), max_src_image_size=wanted.largest)
        return made


def _csc(numbers: Sequence[float]) -> Csc:
    whole = tuple(int(n) for n in numbers)
    return Csc(whole[:9], input_bias=whole[12:15], output_bias=whole[9:12])


def _four_whole(numbers: Sequence[float]) -> tuple[int, int, int, int]:
    a, b, c, d = (int(n) for n in numbers)
    return a, b, c, d


def _four(numbers: Sequence[float] | None, otherwise: float) -> tuple[float, float, float, float]:
    a, b, c, d = numbers if numbers is not None else (otherwise,) * 4
    return float(a), float(b), float(c), float(d)


def planes(wanted: Wanted, data: bytes, settings: tuple[Settings, ...] | None, dims: Sequence[int]) -> NDArray[Any]:
    """float32 [N, C, H, W] of the pictures in a buffer, the first N of those there are settings for. dims: what the model takes
    in this run. NpuError model_aipp without settings or for some of other sizes, model_input_mismatch for too few bytes."""
    import numpy as np

    from npu.ops.aipp import apply

    if settings is None:
        raise NpuError("model_aipp", input=wanted.input, reason="the settings of its dynamic AIPP were not given before the run")
    if len(dims) == len(wanted.dims):  # one of several shapes
        settings = settings[: dims[0]]
        other = next((s.size for s in settings if s.size != (dims[3], dims[2])), None)
        if other is not None:
            raise NpuError("model_aipp", input=wanted.input, makes=other[::-1], wanted=tuple(dims[2:]), reason="the chosen size")
    need = sum(s.bytes for s in settings)
    if len(data) < need:
        raise NpuError("model_input_mismatch", name=wanted.input, wanted=need, given=len(data), reason="size of the pictures")
    made, at = [], 0
    for each in settings:
        picture = np.frombuffer(data, np.uint8, each.bytes, at).reshape(1, -1)
        made.append(apply(each, wanted.dims[1], picture))
        at += each.bytes
    return np.concatenate(made)
