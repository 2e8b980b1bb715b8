"""acl.rt: devices and contexts."""

from __future__ import annotations

from npu.cost import call_ns
from npu.errors import NpuError
from npu.runtime import context as contexts
from npu.runtime.context import Context
from npu.runtime.process import Process
from npu.runtime.thread import HostThread

GROUP = "rt"
__all__ = [
    "create_context",
    "ctx_get_current_default_stream",
    "destroy_context",
    "get_context",
    "get_device",
    "get_device_count",
    "get_mem_info",
    "get_run_mode",
    "reset_device",
    "reset_device_force",
    "set_context",
    "set_device",
]

ACL_HOST = 1


def set_device(process: Process, thread: HostThread, device: int) -> None:
    if contexts.set_device(process, thread, device):
        thread.clock.now += call_ns("aclrtSetDevice:open")


def reset_device(process: Process, thread: HostThread, device: int) -> None:
    contexts.reset_device(process, thread, device)


def reset_device_force(process: Process, thread: HostThread, device: int) -> None:
    contexts.reset_device(process, thread, device)


def get_device(process: Process, thread: HostThread) -> int:
    return contexts.current(thread).device


def get_device_count(process: Process, thread: HostThread) -> int:
    count = len(process.visible())
    if count == 0:
        raise NpuError("no_device")
    return count


def get_run_mode(process: Process, thread: HostThread) -> int:
    return ACL_HOST


def create_context(process: Process, thread: HostThread, device: int) -> int:
    return contexts.create(process, thread, device)


def destroy_context(process: Process, thread: HostThread, handle: int) -> None:
    context = process.get(handle, Context)
    if context.primary:
        raise NpuError("invalid_param", handle=handle, reason="the default context ends with reset_device")
    contexts.destroy(process, context)


def set_context(process: Process, thread: HostThread, handle: int) -> None:
    thread.context = process.get(handle, Context)
    thread.device = thread.context.device


def get_context(process: Process, thread: HostThread) -> int:
    return contexts.current(thread).handle


def ctx_get_current_default_stream(process: Process, thread: HostThread) -> int:
    contexts.current(thread)
    return 0


def get_mem_info(process: Process, thread: HostThread, attribute: int) -> tuple[int, int]:
    return contexts.current(thread).dev.memory_info(attribute)
