"""The media engine: channels, and jobs that a stream holds. Rules of what may be asked for are checked when a job is queued."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from npu.cost.dvpp import dvpp_ns
from npu.device.task import DVPP, PLAIN, Row, Task
from npu.errors import NpuError
from npu.runtime.coded import KIND_OF, encode_jpeg, jpeg_frame, jpeg_info, png_frame, png_info
from npu.runtime.frame_ops import border, convert, crop, paste, pyramid_step, resize
from npu.runtime.picture import (
    COARSER,
    HALF,
    RGB,
    Frame,
    PicDesc,
    aligned,
    bytes_of,
    check,
    format_of,
    memory,
    read,
    row_bytes,
    write,
)
from npu.runtime.process import Process
from npu.runtime.side import Side
from npu.runtime.stream import Stream
from npu.runtime.thread import HostThread

VPC_STRIDE, VPC_ROWS = 16, 2  # strides of pictures that are scaled, cut, converted
JPEGD_ROWS, PNGD_STRIDE, PNGD_ROWS = 16, 128, 16
LEAST, MOST = (10, 6), 8192  # size of a picture, pixels (public documentation of A2 and 310P)
SCALES = (1 / 32, 16)
INTERPOLATIONS = range(5)
MOST_ROIS = 256
PASTE_STEP = 16  # columns: where a part may begin


class Channel:
    """A channel and its description. id: -1 before it is opened; modes: which units it is for, 0 all; options by number."""

    def __init__(self) -> None:
        self.id = -1
        self.modes = 0
        self.options: dict[int, int] = {}

    @property
    def matrix(self) -> int:
        return self.options.get(0, 0)


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


MODES = {"vpc": 1, "jpegd": 2, "jpege": 4, "pngd": 8}


def opened(process: Process, handle: int, unit: str) -> Channel:
    """The open channel of a description. NpuError invalid_param when it is not open or not for that unit."""
    channel = process.get(handle, Channel, "invalid_param")
    if channel.id < 0 or (channel.modes and not channel.modes & MODES[unit]):
        raise NpuError("invalid_param", channel=channel.id, unit=unit, reason="the channel is not open, or not for that")
    return channel


def submit(
    process: Process, thread: HostThread, unit: str, name: str, pixels: int, work: Callable[[], None], stream: Stream,
    reads: Sequence[tuple[Side, int]], writes: Sequence[tuple[Side, int]],
) -> None:  # fmt: skip
    """Queue a job on a unit of the media engine; its values are worked out when it ends."""
    recording = process.recording
    thread.correlation = recording.correlation()
    row = PLAIN
    if recording.on:
        text = recording.text
        ins, outs = (text(";".join(s.range(n) for s, n in sides)) for sides in (reads, writes))
        row = Row(sum(n for _, n in writes), text(name), text(f"DVPP_{unit.upper()}"), reads=ins, writes=outs)
    task = Task(DVPP, dvpp_ns(unit, pixels, process.machine.chip), row, engine=unit)

    def done(_time: int) -> None:
        for side, _ in writes:
            side.touched()
        if process.knobs.compute:
            work()

    task.on_done, task.correlation = done, thread.correlation
    stream.submit(process, thread, task)


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
        if scale is None and place is None and (width, height) != goal and not (cut is None and edge is None and not halve):
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


def jpeg_stride(process: Process) -> int:
    """What the width stride of a decoded JPEG must be a multiple of."""
    return 64 if process.machine.chip.family == "310P" else 128


def _shape(process: Process, target: PicDesc, width: int, height: int, across: int, down: int) -> None:
    """Fill in what the script left open in the description of a decoded picture. NpuError invalid_param, those of check."""
    form = format_of(target.format)
    coarse = COARSER[form.kind]
    width, height = aligned(width, coarse[0]), aligned(height, coarse[1])
    target.width = target.width or width
    target.height = target.height or height
    target.width_stride = target.width_stride or aligned(row_bytes(form, target.width), across)
    target.height_stride = target.height_stride or aligned(target.height, down)
    if abs(target.width - width) > 1 or abs(target.height - height) > 1:
        raise NpuError("invalid_param", width=target.width, height=target.height, picture=(width, height))
    target.width, target.height = aligned(target.width, coarse[0]), aligned(target.height, coarse[1])
    check(target, "output", across, down)


def predicted(process: Process, unit: str, width: int, height: int, form: int) -> int:
    """Bytes of a decoded picture with the least strides. NpuError invalid_param."""
    found = format_of(form)
    across, down = (jpeg_stride(process), JPEGD_ROWS) if unit == "jpegd" else (PNGD_STRIDE, PNGD_ROWS)
    coarse = COARSER[found.kind]
    wide, high = aligned(width, coarse[0]), aligned(height, coarse[1])
    return bytes_of(found, aligned(row_bytes(found, wide), across), aligned(high, down))


def decode(process: Process, thread: HostThread, unit: str, pointer: int, size: int, target: PicDesc, stream: Stream) -> None:
    """Queue decoding a JPEG (unit jpegd) or PNG (pngd) that lies in memory of the media engine."""
    source = Side(process, pointer, size, True)
    data = source.read(size)
    if unit == "jpegd":
        jpeg = jpeg_info(data)
        _shape(process, target, jpeg.width, jpeg.height, jpeg_stride(process), JPEGD_ROWS)
        pixels = jpeg.width * jpeg.height
    else:
        png = png_info(data)
        if format_of(target.format).kind != RGB:
            raise NpuError("invalid_param", format=target.format, reason="a PNG is decoded to RGB")
        _shape(process, target, png.width, png.height, PNGD_STRIDE, PNGD_ROWS)
        pixels = png.width * png.height
    form, place = format_of(target.format), memory(process, target)

    def work() -> None:
        coded = source.read(size)
        frame = jpeg_frame(coded) if unit == "jpegd" else png_frame(coded)
        write(place, target, form, convert(_filled(frame, target), form.kind))

    submit(process, thread, unit, unit.upper(), pixels, work, stream, [(source, size)], [(place, target.size)])


def _filled(frame: Frame, target: PicDesc) -> Frame:
    """A frame of the target's size: an odd picture repeats its last column or row."""
    import numpy as np

    more = (target.height - frame.height, target.width - frame.width)
    if more == (0, 0):
        return frame
    planes = [
        np.pad(p, [(0, max(0, more[0])), (0, max(0, more[1])), (0, 0)][: p.ndim], mode="edge")[: target.height, : target.width]
        for p in frame.planes
    ]
    return Frame(frame.kind, planes)


def encoded_size(desc: PicDesc) -> int:
    """Bytes to reserve for a coded picture: what it has uncoded and a head (an upper bound)."""
    form = check(desc, "input", VPC_STRIDE, 1)
    return bytes_of(form, desc.width_stride, desc.height_stride) + 4096


def encode(
    process: Process, thread: HostThread, source: PicDesc, pointer: int, size_at: int, quality: int, stream: Stream
) -> None:
    """Queue coding a picture as JPEG. size_at: where the script keeps the size of its buffer and gets that of the result."""
    form = check(source, "input", VPC_STRIDE, 1)
    if form.kind != HALF:
        raise NpuError("invalid_param", format=source.format, reason="the encoder takes YUV420 semi-planar pictures")
    word = Side(process, size_at, 4, False)
    room = int.from_bytes(word.read(4), "little")
    place, taken = memory(process, source), Side(process, pointer, room, True)

    def work() -> None:
        data = encode_jpeg(read(place, source, form), quality)
        if len(data) > room:
            raise NpuError("invalid_size", count=len(data), dst_max=room)
        taken.write(data)
        word.write(len(data).to_bytes(4, "little"))

    submit(process, thread, "jpege", "JPEGE", source.width * source.height, work, stream, [(place, source.size)], [(taken, room)])


def kind_of_jpeg(form: int) -> str:
    """The kind of picture a JPEG of that acldvppJpegFormat decodes to without a change of its colour."""
    return KIND_OF.get(form, HALF)
