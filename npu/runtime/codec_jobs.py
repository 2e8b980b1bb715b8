"""Jobs that code and decode pictures (JPEGD, JPEGE, PNGD). What a coded picture must be is checked when a job is queued."""

from __future__ import annotations

from npu.errors import NpuError
from npu.runtime.coded import encode_jpeg, jpeg_frame, jpeg_info, png_frame, png_info
from npu.runtime.dvpp import submit
from npu.runtime.frame_ops import convert
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
from npu.runtime.vpc import VPC_STRIDE

JPEGD_ROWS, PNGD_STRIDE, PNGD_ROWS = 16, 128, 16


def jpeg_stride(process: Process) -> int:
    """What the width stride of a decoded JPEG must be a multiple of."""
    return 64 if process.machine.chip.family == "310P" else 128


def _shape(target: PicDesc, width: int, height: int, across: int, down: int) -> None:
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
        _shape(target, jpeg.width, jpeg.height, jpeg_stride(process), JPEGD_ROWS)
        pixels = jpeg.width * jpeg.height
    else:
        png = png_info(data)
        if format_of(target.format).kind != RGB:
            raise NpuError("invalid_param", format=target.format, reason="a PNG is decoded to RGB")
        _shape(target, png.width, png.height, PNGD_STRIDE, PNGD_ROWS)
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
