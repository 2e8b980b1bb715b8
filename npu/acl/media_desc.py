"""acl.media: descriptions: pictures, streams of coded data, parts, scaling, borders, batches."""

from __future__ import annotations

from npu.acl.fields import dropper, fields, maker, setter
from npu.errors import NpuError
from npu.runtime.picture import PicDesc
from npu.runtime.process import Process
from npu.runtime.thread import HostThread
from npu.runtime.vpc import INTERPOLATIONS, MOST_ROIS, Batch, Border, Resize, Roi

GROUP = "media"
__all__ = [
    "dvpp_create_batch_pic_desc",
    "dvpp_create_roi_config",
    "dvpp_destroy_batch_pic_desc",
    "dvpp_get_border_config_value",
    "dvpp_get_pic_desc",
    "dvpp_get_resize_config_interpolation",
    "dvpp_set_border_config_value",
    "dvpp_set_jpege_config_level",
    "dvpp_set_resize_config_interpolation",
    "dvpp_set_roi_config",
]


class StreamDesc:
    """A piece of a coded stream."""

    def __init__(self) -> None:
        self.data = self.size = self.timestamp = self.ret_code = self.eos = 0
        self.format = 0


class JpegConfig:
    """level: quality 0..100, 0 stands for 100."""

    def __init__(self) -> None:
        self.level = 0


FIELDS = {
    "dvpp_create_pic_desc": maker(PicDesc),
    "dvpp_destroy_pic_desc": dropper(PicDesc),
    **fields(PicDesc, "pic_desc", ("data", "size", "format", "width", "height", "width_stride", "height_stride", "ret_code")),
    "dvpp_create_stream_desc": maker(StreamDesc),
    "dvpp_destroy_stream_desc": dropper(StreamDesc),
    **fields(StreamDesc, "stream_desc", ("data", "size", "format", "timestamp", "ret_code", "eos")),
    **{f"dvpp_set_roi_config_{name}": setter(Roi, name) for name in ("left", "right", "top", "bottom")},
    "dvpp_destroy_roi_config": dropper(Roi),
    "dvpp_create_resize_config": maker(Resize),
    "dvpp_destroy_resize_config": dropper(Resize),
    "dvpp_create_border_config": maker(Border),
    "dvpp_destroy_border_config": dropper(Border),
    **fields(Border, "border_config", ("border_type", "top", "bottom", "left", "right")),
    "dvpp_create_jpege_config": maker(JpegConfig),
    "dvpp_destroy_jpege_config": dropper(JpegConfig),
    "dvpp_get_jpege_config_level": fields(JpegConfig, "jpege_config", ("level",))["dvpp_get_jpege_config_level"],
}


def picture(process: Process, handle: int) -> PicDesc:
    """The picture of a handle. NpuError invalid_param."""
    return process.get(handle, PicDesc, "invalid_param")


def dvpp_create_batch_pic_desc(process: Process, thread: HostThread, count: int) -> int:
    if not 1 <= count <= MOST_ROIS:
        raise NpuError("invalid_param", count=count)
    return process.register(Batch([process.register(PicDesc()) for _ in range(count)]))


def dvpp_get_pic_desc(process: Process, thread: HostThread, handle: int, index: int) -> int:
    pictures = process.get(handle, Batch, "invalid_param").pictures
    if index >= len(pictures):
        raise NpuError("invalid_param", index=index, count=len(pictures))
    return pictures[index]


def dvpp_destroy_batch_pic_desc(process: Process, thread: HostThread, handle: int) -> None:
    for one in process.drop(handle, Batch).pictures:
        process.objects.pop(one, None)


def dvpp_create_roi_config(process: Process, thread: HostThread, left: int, right: int, top: int, bottom: int) -> int:
    return process.register(Roi(left, right, top, bottom))


def dvpp_set_roi_config(process: Process, thread: HostThread, handle: int, left: int, right: int, top: int, bottom: int) -> None:
    roi = process.get(handle, Roi, "invalid_param")
    roi.left, roi.right, roi.top, roi.bottom = left, right, top, bottom


def dvpp_set_resize_config_interpolation(process: Process, thread: HostThread, handle: int, value: int) -> None:
    if value not in INTERPOLATIONS:
        raise NpuError("invalid_param", interpolation=value)
    process.get(handle, Resize, "invalid_param").interpolation = value


def dvpp_get_resize_config_interpolation(process: Process, thread: HostThread, handle: int) -> int:
    return process.get(handle, Resize, "invalid_param").interpolation


def dvpp_set_border_config_value(process: Process, thread: HostThread, handle: int, index: int, value: float) -> None:
    values = process.get(handle, Border, "invalid_param").values
    if index >= len(values):
        raise NpuError("invalid_param", index=index, count=len(values))
    values[index] = value


def dvpp_get_border_config_value(process: Process, thread: HostThread, handle: int, index: int) -> float:
    values = process.get(handle, Border, "invalid_param").values
    if index >= len(values):
        raise NpuError("invalid_param", index=index, count=len(values))
    return values[index]


def dvpp_set_jpege_config_level(process: Process, thread: HostThread, handle: int, level: int) -> None:
    if level > 100:
        raise NpuError("invalid_param", level=level)
    process.get(handle, JpegConfig, "invalid_param").level = level
