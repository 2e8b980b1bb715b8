"""acl.rt: streams, and waiting for them and for devices."""

from __future__ import annotations

from npu.errors import NpuError
from npu.runtime import context, stream
from npu.runtime.process import Process
from npu.runtime.thread import HostThread

GROUP = "rt"
__all__ = [
    "create_stream",
    "create_stream_with_config",
    "destroy_stream",
    "destroy_stream_force",
    "get_stream_attribute",
    "get_stream_available_num",
    "get_stream_overflow_switch",
    "get_thread_last_task_id",
    "set_stream_attribute",
    "set_stream_failure_mode",
    "set_stream_overflow_switch",
    "stream_abort",
    "stream_get_id",
    "stream_query",
    "synchronize_device",
    "synchronize_device_with_timeout",
    "synchronize_stream",
    "synchronize_stream_with_timeout",
]

COMPLETE, NOT_READY = 0, 1  # aclrtStreamStatus
CONTINUE_ON_FAILURE, STOP_ON_FAILURE = 0, 1
ATTRIBUTES = {1: "failureMode", 2: "overflowSwitch", 3: "userCustomTag"}  # aclrtStreamAttr


def create_stream(process: Process, thread: HostThread) -> int:
    return stream.create(process, context.current(thread))


def create_stream_with_config(process: Process, thread: HostThread, priority: int, flag: int) -> int:
    return stream.create(process, context.current(thread), priority, flag)


def destroy_stream(process: Process, thread: HostThread, handle: int) -> None:
    stream.destroy(process, thread, handle)


def destroy_stream_force(process: Process, thread: HostThread, handle: int) -> None:
    if handle == 0:
        raise NpuError("invalid_param", handle=0)
    stream.of(process, thread, handle).close(process)


def stream_abort(process: Process, thread: HostThread, handle: int) -> None:
    stream.abort(process, thread, stream.of(process, thread, handle))


def get_stream_available_num(process: Process, thread: HostThread) -> int:
    return stream.available(context.current(thread))


def set_stream_failure_mode(process: Process, thread: HostThread, handle: int, mode: int) -> None:
    if mode not in (CONTINUE_ON_FAILURE, STOP_ON_FAILURE) or handle == 0:
        raise NpuError("invalid_param", mode=mode, handle=handle)
    stream.of(process, thread, handle).stops = mode == STOP_ON_FAILURE


def set_stream_overflow_switch(process: Process, thread: HostThread, handle: int, switch: int) -> None:
    if switch not in (0, 1):
        raise NpuError("invalid_param", switch=switch)
    stream.of(process, thread, handle).overflow = switch


def get_stream_overflow_switch(process: Process, thread: HostThread, handle: int) -> int:
    return stream.of(process, thread, handle).overflow


def set_stream_attribute(process: Process, thread: HostThread, handle: int, kind: int, value: dict[str, object]) -> None:
    name = ATTRIBUTES.get(kind)
    number = value.get(name) if name is not None else None
    if not isinstance(number, int):
        raise NpuError("invalid_param", attribute=kind, value=value)
    if name == "failureMode":
        set_stream_failure_mode(process, thread, handle, number)
    elif name == "overflowSwitch":
        set_stream_overflow_switch(process, thread, handle, number)
    else:
        stream.of(process, thread, handle).tag = number


def get_stream_attribute(process: Process, thread: HostThread, handle: int, kind: int) -> dict[str, int]:
    found = stream.of(process, thread, handle)
    values = {"failureMode": int(found.stops), "overflowSwitch": found.overflow, "userCustomTag": found.tag}
    if kind not in ATTRIBUTES:
        raise NpuError("invalid_param", attribute=kind)
    return {ATTRIBUTES[kind]: values[ATTRIBUTES[kind]]}


def get_thread_last_task_id(process: Process, thread: HostThread) -> int:
    context.current(thread)
    return thread.last_task


def synchronize_stream(process: Process, thread: HostThread, handle: int) -> None:
    stream.synchronize(process, thread, stream.of(process, thread, handle))


def synchronize_stream_with_timeout(process: Process, thread: HostThread, handle: int, timeout: int) -> None:
    stream.synchronize(process, thread, stream.of(process, thread, handle), timeout)


def synchronize_device(process: Process, thread: HostThread) -> None:
    stream.synchronize_device(process, thread)


def synchronize_device_with_timeout(process: Process, thread: HostThread, timeout: int) -> None:
    stream.synchronize_device(process, thread, timeout)


def stream_query(process: Process, thread: HostThread, handle: int) -> int:
    done = stream.finished(process, thread, stream.of(process, thread, handle))
    return COMPLETE if done else NOT_READY


def stream_get_id(process: Process, thread: HostThread, handle: int) -> int:
    return stream.of(process, thread, handle).ordinal
