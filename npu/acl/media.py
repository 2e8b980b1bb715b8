"""acl.media: memory and channels of the media engine."""

from __future__ import annotations

from npu.errors import NpuError
from npu.runtime import memory, stream
from npu.runtime.dvpp import Channel
from npu.runtime.process import Process
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
    "dvpp_malloc",
    "dvpp_malloc_with_cfg",
    "dvpp_set_channel_desc_mode",
    "dvpp_set_channel_desc_param",
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
