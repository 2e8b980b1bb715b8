"""Jobs on pictures (VPC): cut, scale, frame, convert, paste. Rules of what may be asked for are checked when a job is queued."""

from __future__ import annotations

from collections.abc import Sequence

from npu.errors import NpuError
from npu.runtime.dvpp import Channel, submit
from npu.runtime.frame_ops import border, convert, crop, paste, pyramid_step, resize
from npu.runtime.picture import COARSER, PicDesc, check, format_of, memory, read, write
from npu.runtime.process import Process
from npu.runtime.stream import Stream
from npu.runtime.thread import HostThread

VPC_STRIDE, VPC_ROWS = 16, 2  # strides of pictures that are scaled, cut, converted
LEAST, MOST = (10, 6), 8192  # size of a picture, pixels (public documentation of A2 and 310P)
SCALES = (1 / 32, 16)
INTERPOLATIONS = range(5)
MOST_ROIS = 256
PASTE_STEP = 16  # columns: where a part may begin


class Roi:
    """A part of a picture, both ends within it."""

    def __init__(self, left: int, right: int, top: int, bottom: int) -> None:
        self.left, self.right, self.top, self.bottom = left, right, top, bottom

    @property
    def width(self) -> int:
        return self.right - self.left + 1

    @property
    def height(self) -> int:
        return self.bottom - self.top + 1


class Resize:
    """How to scale."""

    def __init__(self) -> None:
        self.interpolation = 0


class Border:
    """What to put around a picture. values by channel."""

    def __init__(self) -> None:
        self.top = self.bottom = self.left = self.right = self.border_type = 0
        self.values = [0.0, 0.0, 0.0, 0.0]


class Batch:
    """Handles of picture descriptions in a row."""

    def __init__(self, pictures: Sequence[int]) -> None:
        self.pictures = list(pictures)


class Step:
    """One picture out of one picture: cut, scale, frame, convert, paste, whatever of it is asked for."""

    def __init__(
        self,
        process: Process,
        channel: Channel,
        source: PicDesc,
        target: PicDesc,
        *,
        cut: Roi | None = None,
        place: Roi | None = None,
        scale: Resize | None = None,
        edge: Border | None = None,
        halve: bool = False,
    ) -> None:
        self.source, self.target = source, target
        self.cut, self.place, self.scale, self.edge, self.halve = cut, place, scale, edge, halve
        self.matrix = channel.matrix
        self.from_form = check(source, "input", VPC_STRIDE, VPC_ROWS)
        self.to_form = check(target, "output", VPC_STRIDE, VPC_ROWS)
        for what, desc in (("input", source), ("output", target)):
            if not (LEAST[0] <= desc.width <= MOST and LEAST[1] <= desc.height <= MOST):
                raise NpuError("invalid_param", picture=what, width=desc.width, height=desc.height, least=LEAST, most=MOST)
        width, height = (cut.width, cut.height) if cut is not None else (source.width, source.height)
        if cut is not None:
            _inside(cut, source, "crop", 1)
        if place is not None:
            _inside(place, target, "paste", PASTE_STEP)
        goal = (place.width, place.height) if place is not None else (target.width, target.height)
        if edge is not None:
            goal = (goal[0] - edge.left - edge.right, goal[1] - edge.top - edge.bottom)
        if halve:
            width, height = width // 2, height // 2
        fixed = scale is None and place is None and (edge is not None or halve)  # what is only cut out is scaled to its target
        if fixed and (width, height) != goal:
            raise NpuError("invalid_param", picture="output", size=goal, wanted=(width, height), reason="nothing here scales")
        if min(goal) < 1 or not all(SCALES[0] <= g / s <= SCALES[1] for g, s in zip(goal, (width, height), strict=True)):
            raise NpuError("invalid_param", size=goal, source=(width, height), reason=f"scaling is limited to {SCALES}")
        self.goal = goal
        self.read_from, self.write_to = memory(process, source), memory(process, target)

    @property
    def pixels(self) -> int:
        size = (self.cut.width * self.cut.height) if self.cut is not None else self.source.width * self.source.height
        return max(size, self.goal[0] * self.goal[1])

    def __call__(self) -> None:
        frame = read(self.read_from, self.source, self.from_form)
        if self.cut is not None:
            frame = crop(frame, self.cut.left, self.cut.right, self.cut.top, self.cut.bottom)
        if self.halve:
            frame = pyramid_step(frame)
        frame = convert(frame, self.to_form.kind, self.matrix)
        frame = resize(frame, *self.goal, self.scale.interpolation if self.scale is not None else 0)
        if self.edge is not None:
            b = self.edge
            frame = border(
                frame, (b.top, b.bottom, b.left, b.right), b.border_type, (b.values[0], b.values[1], b.values[2], b.values[3])
            )
        if self.place is not None:
            whole = read(self.write_to, self.target, self.to_form)
            paste(whole, frame, self.place.left, self.place.top)
            frame = whole
        write(self.write_to, self.target, self.to_form, frame)


def _inside(roi: Roi, desc: PicDesc, what: str, step: int) -> None:
    """Even begin, odd end, within the picture; a paste begins at a multiple of 16 columns. NpuError invalid_param."""
    coarse = COARSER[format_of(desc.format).kind]
    fits = 0 <= roi.left < roi.right < desc.width and 0 <= roi.top < roi.bottom < desc.height
    even = roi.left % coarse[0] == roi.width % coarse[0] == roi.top % coarse[1] == roi.height % coarse[1] == 0
    if not fits or not even or roi.left % step:
        raise NpuError(
            "invalid_param", area=what, left=roi.left, right=roi.right, top=roi.top, bottom=roi.bottom,
            picture=(desc.width, desc.height), reason=f"within the picture, begin even and end odd, left a multiple of {step}",
        )  # fmt: skip


def run(process: Process, thread: HostThread, name: str, steps: Sequence[Step], stream: Stream) -> None:
    """Queue one VPC job of one or more steps."""

    def work() -> None:
        for step in steps:
            step()

    reads = [(s.read_from, s.source.size) for s in steps]
    writes = [(s.write_to, s.target.size) for s in steps]
    submit(process, thread, "vpc", name, sum(s.pixels for s in steps), work, stream, reads, writes)
