"""acl.media: memory and channels of the media engine, and its jobs."""

from __future__ import annotations

from npu.acl.media_desc import JpegConfig
from npu.errors import NpuError
from npu.runtime import coded, dvpp, memory, stream
from npu.runtime.dvpp import MOST_ROIS, Batch, Border, Channel, Resize, Roi, Step
from npu.runtime.picture import PicDesc
from npu.runtime.process import Process
from npu.runtime.side import Side, on_device
from npu.runtime.thread import HostThread

GROUP = "media"
__all__ = [
    "dvpp_create_channel",
    "dvpp_create_channel_desc",
    "dvpp_destroy_channel",
    "dvpp_destroy_channel_desc",
    "dvpp_free",
    "dvpp_get_channel_desc_channel_id",
    "dvpp_get_channel_desc_param",
    "dvpp_jpeg_decode_async",
    "dvpp_jpeg_encode_async",
    "dvpp_jpeg_get_image_info",
    "dvpp_jpeg_get_image_info_v2",
    "dvpp_jpeg_predict_dec_size",
    "dvpp_jpeg_predict_enc_size",
    "dvpp_malloc",
    "dvpp_malloc_with_cfg",
    "dvpp_png_decode_async",
    "dvpp_png_get_image_info",
    "dvpp_png_get_image_info_v2",
    "dvpp_png_predict_dec_size",
    "dvpp_set_channel_desc_mode",
    "dvpp_set_channel_desc_param",
    "dvpp_vpc_batch_crop_and_paste_async",
    "dvpp_vpc_batch_crop_async",
    "dvpp_vpc_batch_crop_resize_async",
    "dvpp_vpc_batch_crop_resize_make_border_async",
    "dvpp_vpc_batch_crop_resize_paste_async",
    "dvpp_vpc_convert_color_async",
    "dvpp_vpc_crop_and_paste_async",
    "dvpp_vpc_crop_async",
    "dvpp_vpc_crop_resize_async",
    "dvpp_vpc_crop_resize_paste_async",
    "dvpp_vpc_pyr_down_async",
    "dvpp_vpc_resize_async",
]

ALL_MODES = 15
OPTIONS = {0: 4, 1: 4, 2: 8, 3: 4, 4: 4, 5: 4}  # acldvppChannelDescParamType -> bytes
MATRICES = range(6)  # acldvppCscMatrix


def dvpp_malloc(process: Process, thread: HostThread, size: int) -> int:
    return memory.malloc(process, thread, size, 0, media=True)


def dvpp_malloc_with_cfg(process: Process, thread: HostThread, size: int, policy: int, config: dict[str, object]) -> int:
    return memory.malloc(process, thread, size, policy, media=True)


def dvpp_free(process: Process, thread: HostThread, pointer: int) -> None:
    memory.free(process, thread, pointer)


def dvpp_create_channel_desc(process: Process, thread: HostThread) -> int:
    return process.register(Channel())


def dvpp_set_channel_desc_mode(process: Process, thread: HostThread, handle: int, modes: int) -> None:
    if modes == 0 or modes & ~ALL_MODES:
        raise NpuError("invalid_param", modes=modes)
    process.get(handle, Channel, "invalid_param").modes = modes


def dvpp_create_channel(process: Process, thread: HostThread, handle: int) -> None:
    channel = process.get(handle, Channel, "invalid_param")
    stream.of(process, thread, 0)  # a context is needed
    if channel.id >= 0:
        raise NpuError("invalid_param", channel=channel.id, reason="the channel is open already")
    channel.id = process.ordinal("channel")


def dvpp_destroy_channel(process: Process, thread: HostThread, handle: int) -> None:
    channel = process.get(handle, Channel, "invalid_param")
    if channel.id < 0:
        raise NpuError("invalid_param", reason="the channel is not open")
    channel.id = -1


def dvpp_destroy_channel_desc(process: Process, thread: HostThread, handle: int) -> None:
    if process.get(handle, Channel, "invalid_param").id >= 0:
        raise NpuError("channel_alive")
    process.drop(handle, Channel)


def dvpp_get_channel_desc_channel_id(process: Process, thread: HostThread, handle: int) -> int:
    return max(0, process.get(handle, Channel, "invalid_param").id)


def dvpp_set_channel_desc_param(process: Process, thread: HostThread, handle: int, option: int, value: int) -> int:
    channel = process.get(handle, Channel, "invalid_param")
    if option not in OPTIONS or (option == 0 and value not in MATRICES):
        raise NpuError("invalid_param", option=option, value=value)
    channel.options[option] = value
    return handle


def dvpp_get_channel_desc_param(process: Process, thread: HostThread, handle: int, option: int) -> tuple[int, int]:
    channel = process.get(handle, Channel, "invalid_param")
    if option not in OPTIONS:
        raise NpuError("invalid_param", option=option)
    return OPTIONS[option], channel.options.get(option, 0)


def _pic(process: Process, handle: int) -> PicDesc:
    return process.get(handle, PicDesc, "invalid_param")


def _roi(process: Process, handle: int) -> Roi:
    return process.get(handle, Roi, "invalid_param")


def _one(
    process: Process, thread: HostThread, name: str, channel: int, source: int, target: int, on: int, *, cut: int = 0,
    place: int = 0, scale: int = 0, halve: bool = False,
) -> None:  # fmt: skip
    """Queue a job of one picture; what is asked for comes as handles, 0 for what is not."""
    where = stream.of(process, thread, on)
    opened = dvpp.opened(process, channel, "vpc")
    step = Step(
        process,
        opened,
        _pic(process, source),
        _pic(process, target),
        cut=_roi(process, cut) if cut else None,
        place=_roi(process, place) if place else None,
        scale=process.get(scale, Resize, "invalid_param") if scale else None,
        halve=halve,
    )
    dvpp.run(process, thread, name, [step], where)


def _needed(**handles: int) -> None:
    for name, handle in handles.items():
        if handle == 0:
            raise NpuError("invalid_param", missing=name)


def dvpp_vpc_resize_async(
    process: Process, thread: HostThread, channel: int, source: int, target: int, scale: int, on: int
) -> None:
    _needed(resize=scale)
    _one(process, thread, "VPC_RESIZE", channel, source, target, on, scale=scale)


def dvpp_vpc_crop_async(process: Process, thread: HostThread, channel: int, source: int, target: int, cut: int, on: int) -> None:
    _needed(crop=cut)
    _one(process, thread, "VPC_CROP", channel, source, target, on, cut=cut)


def dvpp_vpc_crop_and_paste_async(
    process: Process, thread: HostThread, channel: int, source: int, target: int, cut: int, place: int, on: int
) -> None:
    _needed(crop=cut, paste=place)
    _one(process, thread, "VPC_CROP_AND_PASTE", channel, source, target, on, cut=cut, place=place)


def dvpp_vpc_crop_resize_async(
    process: Process, thread: HostThread, channel: int, source: int, target: int, cut: int, scale: int, on: int
) -> None:
    _needed(crop=cut, resize=scale)
    _one(process, thread, "VPC_CROP_RESIZE", channel, source, target, on, cut=cut, scale=scale)


def dvpp_vpc_crop_resize_paste_async(
    process: Process, thread: HostThread, channel: int, source: int, target: int, cut: int, place: int, scale: int, on: int
) -> None:
    _needed(crop=cut, paste=place, resize=scale)
    _one(process, thread, "VPC_CROP_RESIZE_PASTE", channel, source, target, on, cut=cut, place=place, scale=scale)


def dvpp_vpc_convert_color_async(process: Process, thread: HostThread, channel: int, source: int, target: int, on: int) -> None:
    one, other = _pic(process, source), _pic(process, target)
    if (one.width, one.height) != (other.width, other.height):
        raise NpuError(
            "invalid_param", size=(other.width, other.height), wanted=(one.width, one.height), reason="nothing here scales"
        )
    _one(process, thread, "VPC_CONVERT_COLOR", channel, source, target, on)


def dvpp_vpc_pyr_down_async(
    process: Process, thread: HostThread, channel: int, source: int, target: int, reserve: object, on: int
) -> None:
    _one(process, thread, "VPC_PYR_DOWN", channel, source, target, on, halve=True)


def _batch(
    process: Process, thread: HostThread, name: str, channel: int, sources: int, counts: list[int], targets: int, cuts: list[int],
    on: int, places: list[int] | None = None, edges: list[int] | None = None, scale: int = 0,
) -> int:  # fmt: skip
    """Queue a job of many parts: counts says how many of them come from each source; the targets' handle."""
    where = stream.of(process, thread, on)
    opened = dvpp.opened(process, channel, "vpc")
    ins, outs = process.get(sources, Batch, "invalid_param").pictures, process.get(targets, Batch, "invalid_param").pictures
    for areas in (cuts, places, edges):
        if areas is not None and not 1 <= len(areas) <= MOST_ROIS:
            raise ValueError(f"the number of areas must be 1 to {MOST_ROIS}")
    if len(counts) != len(ins) or sum(counts) != len(cuts) or len(outs) != len(cuts) or min(counts, default=0) < 0:
        raise NpuError("invalid_param", areas=len(cuts), counts=counts, inputs=len(ins), outputs=len(outs))
    if any(areas is not None and len(areas) != len(cuts) for areas in (places, edges)):
        raise NpuError("invalid_param", areas=len(cuts), reason="as many paste areas or borders as crop areas")
    origin = [handle for handle, count in zip(ins, counts, strict=True) for _ in range(count)]
    steps = [
        Step(
            process,
            opened,
            _pic(process, origin[n]),
            _pic(process, outs[n]),
            cut=_roi(process, cut),
            place=_roi(process, places[n]) if places is not None else None,
            edge=process.get(edges[n], Border, "invalid_param") if edges is not None else None,
            scale=process.get(scale, Resize, "invalid_param") if scale else None,
        )
        for n, cut in enumerate(cuts)
    ]
    dvpp.run(process, thread, name, steps, where)
    return targets


def dvpp_vpc_batch_crop_async(
    process: Process, thread: HostThread, channel: int, sources: int, counts: list[int], targets: int, cuts: list[int], on: int
) -> int:
    return _batch(process, thread, "VPC_BATCH_CROP", channel, sources, counts, targets, cuts, on)


def dvpp_vpc_batch_crop_and_paste_async(
    process: Process, thread: HostThread, channel: int, sources: int, counts: list[int], targets: int, cuts: list[int],
    places: list[int], on: int,
) -> int:  # fmt: skip
    return _batch(process, thread, "VPC_BATCH_CROP_AND_PASTE", channel, sources, counts, targets, cuts, on, places=places)


def dvpp_vpc_batch_crop_resize_async(
    process: Process, thread: HostThread, channel: int, sources: int, counts: list[int], targets: int, cuts: list[int],
    scale: int, on: int,
) -> int:  # fmt: skip
    _needed(resize=scale)
    return _batch(process, thread, "VPC_BATCH_CROP_RESIZE", channel, sources, counts, targets, cuts, on, scale=scale)


def dvpp_vpc_batch_crop_resize_paste_async(
    process: Process, thread: HostThread, channel: int, sources: int, counts: list[int], targets: int, cuts: list[int],
    places: list[int], scale: int, on: int,
) -> int:  # fmt: skip
    _needed(resize=scale)
    name = "VPC_BATCH_CROP_RESIZE_PASTE"
    return _batch(process, thread, name, channel, sources, counts, targets, cuts, on, places=places, scale=scale)


def dvpp_vpc_batch_crop_resize_make_border_async(
    process: Process, thread: HostThread, channel: int, sources: int, counts: list[int], targets: int, cuts: list[int],
    edges: list[int], scale: int, on: int,
) -> int:  # fmt: skip
    _needed(resize=scale)
    name = "VPC_BATCH_CROP_RESIZE_MAKE_BORDER"
    return _batch(process, thread, name, channel, sources, counts, targets, cuts, on, edges=edges, scale=scale)


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
    return dvpp.predicted(process, "jpegd", info.width, info.height, form)


def dvpp_jpeg_decode_async(
    process: Process, thread: HostThread, channel: int, pointer: int, size: int, target: int, on: int
) -> None:
    where = stream.of(process, thread, on)
    dvpp.opened(process, channel, "jpegd")
    dvpp.decode(process, thread, "jpegd", pointer, size, _pic(process, target), where)


def dvpp_jpeg_predict_enc_size(process: Process, thread: HostThread, source: int, config: int) -> int:
    process.get(config, JpegConfig, "invalid_param")
    return dvpp.encoded_size(_pic(process, source))


def dvpp_jpeg_encode_async(
    process: Process, thread: HostThread, channel: int, source: int, pointer: int, size_at: int, config: int, on: int
) -> None:
    where = stream.of(process, thread, on)
    dvpp.opened(process, channel, "jpege")
    quality = process.get(config, JpegConfig, "invalid_param").level or 100
    dvpp.encode(process, thread, _pic(process, source), pointer, size_at, quality, where)


def dvpp_png_get_image_info(process: Process, thread: HostThread, pointer: int, size: int) -> tuple[int, int, int]:
    info = coded.png_info(_coded(process, pointer, size))
    return info.width, info.height, info.components


def dvpp_png_get_image_info_v2(process: Process, thread: HostThread, pointer: int, size: int) -> tuple[int, int, int, int]:
    info = coded.png_info(_coded(process, pointer, size))
    return info.width, info.height, info.components, info.format


def dvpp_png_predict_dec_size(process: Process, thread: HostThread, pointer: int, size: int, form: int) -> int:
    info = coded.png_info(_coded(process, pointer, size))
    return dvpp.predicted(process, "pngd", info.width, info.height, form)


def dvpp_png_decode_async(
    process: Process, thread: HostThread, channel: int, pointer: int, size: int, target: int, on: int
) -> None:
    where = stream.of(process, thread, on)
    dvpp.opened(process, channel, "pngd")
    dvpp.decode(process, thread, "pngd", pointer, size, _pic(process, target), where)
