"""Settings of dynamic image preprocessing, checked as they come in."""

from __future__ import annotations

from collections.abc import Sequence

from npu.errors import NpuError

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
