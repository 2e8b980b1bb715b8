"""acl.media: jobs on pictures."""

from __future__ import annotations

from npu.acl.media_desc import picture
from npu.errors import NpuError
from npu.runtime import dvpp, stream, vpc
from npu.runtime.process import Process
from npu.runtime.thread import HostThread
from npu.runtime.vpc import MOST_ROIS, Batch, Border, Resize, Roi, Step

GROUP = "media"
__all__ = [
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
        picture(process, source),
        picture(process, target),
        cut=_roi(process, cut) if cut else None,
        place=_roi(process, place) if place else None,
        scale=process.get(scale, Resize, "invalid_param") if scale else None,
        halve=halve,
    )
    vpc.run(process, thread, name, [step], where)


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
    one, other = picture(process, source), picture(process, target)
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
            picture(process, origin[n]),
            picture(process, outs[n]),
            cut=_roi(process, cut),
            place=_roi(process, places[n]) if places is not None else None,
            edge=process.get(edges[n], Border, "invalid_param") if edges is not None else None,
            scale=process.get(scale, Resize, "invalid_param") if scale else None,
        )
        for n, cut in enumerate(cuts)
    ]
    vpc.run(process, thread, name, steps, where)
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
