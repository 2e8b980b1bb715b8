"""acl.media: pictures coded and decoded."""

from __future__ import annotations

from npu.acl.media_desc import JpegConfig, picture
from npu.errors import NpuError
from npu.runtime import codec_jobs, coded, dvpp, stream
from npu.runtime.process import Process
from npu.runtime.side import Side, on_device
from npu.runtime.thread import HostThread

GROUP = "media"
__all__ = [
    "dvpp_jpeg_decode_async",
    "dvpp_jpeg_encode_async",
    "dvpp_jpeg_get_image_info",
    "dvpp_jpeg_get_image_info_v2",
    "dvpp_jpeg_predict_dec_size",
    "dvpp_jpeg_predict_enc_size",
    "dvpp_png_decode_async",
    "dvpp_png_get_image_info",
    "dvpp_png_get_image_info_v2",
    "dvpp_png_predict_dec_size",
]


def _coded(process: Process, pointer: int, size: int) -> bytes:
    """Coded data on whichever side it lies."""
    if pointer == 0 or size == 0:
        raise NpuError("invalid_param", pointer=pointer, size=size)
    return Side(process, pointer, size, on_device(pointer)).read(size)


def dvpp_jpeg_get_image_info(process: Process, thread: HostThread, pointer: int, size: int) -> tuple[int, int, int]:
    info = coded.jpeg_info(_coded(process, pointer, size))
    return info.width, info.height, info.components


def dvpp_jpeg_get_image_info_v2(process: Process, thread: HostThread, pointer: int, size: int) -> tuple[int, int, int, int]:
    info = coded.jpeg_info(_coded(process, pointer, size))
    return info.width, info.height, info.components, info.format


def dvpp_jpeg_predict_dec_size(process: Process, thread: HostThread, pointer: int, size: int, form: int) -> int:
    info = coded.jpeg_info(_coded(process, pointer, size))
    return codec_jobs.predicted(process, "jpegd", info.width, info.height, form)


def dvpp_jpeg_decode_async(
    process: Process, thread: HostThread, channel: int, pointer: int, size: int, target: int, on: int
) -> None:
    where = stream.of(process, thread, on)
    dvpp.opened(process, channel, "jpegd")
    codec_jobs.decode(process, thread, "jpegd", pointer, size, picture(process, target), where)


def dvpp_jpeg_predict_enc_size(process: Process, thread: HostThread, source: int, config: int) -> int:
    process.get(config, JpegConfig, "invalid_param")
    return codec_jobs.encoded_size(picture(process, source))


def dvpp_jpeg_encode_async(
    process: Process, thread: HostThread, channel: int, source: int, pointer: int, size_at: int, config: int, on: int
) -> None:
    where = stream.of(process, thread, on)
    dvpp.opened(process, channel, "jpege")
    quality = process.get(config, JpegConfig, "invalid_param").level or 100
    codec_jobs.encode(process, thread, picture(process, source), pointer, size_at, quality, where)


def dvpp_png_get_image_info(process: Process, thread: HostThread, pointer: int, size: int) -> tuple[int, int, int]:
    info = coded.png_info(_coded(process, pointer, size))
    return info.width, info.height, info.components


def dvpp_png_get_image_info_v2(process: Process, thread: HostThread, pointer: int, size: int) -> tuple[int, int, int, int]:
    info = coded.png_info(_coded(process, pointer, size))
    return info.width, info.height, info.components, info.format


def dvpp_png_predict_dec_size(process: Process, thread: HostThread, pointer: int, size: int, form: int) -> int:
    info = coded.png_info(_coded(process, pointer, size))
    return codec_jobs.predicted(process, "pngd", info.width, info.height, form)


def dvpp_png_decode_async(
    process: Process, thread: HostThread, channel: int, pointer: int, size: int, target: int, on: int
) -> None:
    where = stream.of(process, thread, on)
    dvpp.opened(process, channel, "pngd")
    codec_jobs.decode(process, thread, "pngd", pointer, size, picture(process, target), where)
