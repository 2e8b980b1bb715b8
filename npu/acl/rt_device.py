"""acl.rt: devices and contexts."""

from __future__ import annotations

from npu.cost import call_ns
from npu.errors import NpuError
from npu.runtime import context as contexts
from npu.runtime import device, peer, stream
from npu.runtime.context import Context
from npu.runtime.process import Process
from npu.runtime.stream import GREATEST_PRIORITY, LEAST_PRIORITY
from npu.runtime.thread import HostThread

GROUP = "rt"
__all__ = [
    "create_context",
    "ctx_get_current_default_stream",
    "destroy_context",
    "device_can_access_peer",
    "device_disable_peer_access",
    "device_enable_peer_access",
    "device_get_bare_tgid",
    "device_get_stream_priority_range",
    "device_get_uuid",
    "device_peer_access_status",
    "device_task_abort",
    "get_context",
    "get_device",
    "get_device_capability",
    "get_device_count",
    "get_device_info",
    "get_device_utilization_rate",
    "get_devices_topo",
    "get_logic_dev_id_by_phy_dev_id",
    "get_logic_dev_id_by_user_dev_id",
    "get_mem_info",
    "get_phy_dev_id_by_logic_dev_id",
    "get_primary_ctx_state",
    "get_run_mode",
    "get_user_dev_id_by_logic_dev_id",
    "query_device_status",
    "reset_device",
    "reset_device_force",
    "set_context",
    "set_device",
    "set_ts_device",
]

ACL_HOST = 1


def set_device(process: Process, thread: HostThread, number: int) -> None:
    if contexts.set_device(process, thread, number):
        thread.clock.now += call_ns("aclrtSetDevice:open")


def reset_device(process: Process, thread: HostThread, number: int) -> None:
    contexts.reset_device(process, thread, number)


def reset_device_force(process: Process, thread: HostThread, number: int) -> None:
    contexts.reset_device(process, thread, number)


def get_device(process: Process, thread: HostThread) -> int:
    return contexts.current(thread).device


def get_device_count(process: Process, thread: HostThread) -> int:
    count = len(process.visible())
    if count == 0:
        raise NpuError("no_device")
    return count


def get_run_mode(process: Process, thread: HostThread) -> int:
    return ACL_HOST


def set_ts_device(process: Process, thread: HostThread, scheduler: int) -> None:
    if scheduler not in (0, 1):  # ACL_TS_ID_AICORE, ACL_TS_ID_AIVECTOR
        raise NpuError("invalid_param", ts_id=scheduler)


def get_device_info(process: Process, thread: HostThread, number: int, attribute: int) -> int:
    return device.attribute(process, number, attribute) & 0xFFFF_FFFF  # the binding hands 32 bits on


def get_device_capability(process: Process, thread: HostThread, number: int, feature: int) -> int:
    return device.capability(process, number, feature)


def get_device_utilization_rate(process: Process, thread: HostThread, number: int) -> dict[str, int]:
    return device.utilization(process, number)


def query_device_status(process: Process, thread: HostThread, number: int) -> int:
    return device.status(process, number)


def device_get_uuid(process: Process, thread: HostThread, number: int) -> dict[str, list[int]]:
    return {"bytes": device.uuid(process, number)}


def device_get_bare_tgid(process: Process, thread: HostThread) -> int:
    return process.pid


def device_get_stream_priority_range(process: Process, thread: HostThread) -> tuple[int, int]:
    return LEAST_PRIORITY, GREATEST_PRIORITY


def device_task_abort(process: Process, thread: HostThread, number: int, timeout: int) -> None:
    for context in contexts.contexts(process, number):
        for queue in (context.default, *context.streams.values()):
            stream.abort(process, thread, queue)


def get_devices_topo(process: Process, thread: HostThread, one: int, other: int) -> int:
    a, b = process.physical(one), process.physical(other)
    if a == b:
        raise NpuError("invalid_param", device=one, other=other)
    return peer.link(process, a, b)


def device_can_access_peer(process: Process, thread: HostThread, number: int, other: int) -> int:
    return int(peer.reachable(process, number, other))


def device_enable_peer_access(process: Process, thread: HostThread, other: int, flags: int) -> None:
    if flags:
        raise NpuError("invalid_param", flags=flags, reason="reserved, must be 0")
    peer.enable(process, thread, other)


def device_disable_peer_access(process: Process, thread: HostThread, other: int) -> None:
    peer.disable(process, thread, other)


def device_peer_access_status(process: Process, thread: HostThread, number: int, other: int) -> int:
    return int((process.physical(number), process.physical(other)) in peer.enabled(process))


def get_logic_dev_id_by_user_dev_id(process: Process, thread: HostThread, number: int) -> int:
    return process.physical(number)


def get_user_dev_id_by_logic_dev_id(process: Process, thread: HostThread, number: int) -> int:
    if number not in process.visible():
        raise NpuError("invalid_device", device=number, count=len(process.visible()))
    return process.visible().index(number)


def get_logic_dev_id_by_phy_dev_id(process: Process, thread: HostThread, number: int) -> int:
    return device.machine_id(process, number)


def get_phy_dev_id_by_logic_dev_id(process: Process, thread: HostThread, number: int) -> int:
    return device.machine_id(process, number)


def create_context(process: Process, thread: HostThread, number: int) -> int:
    return contexts.create(process, thread, number)


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


def get_primary_ctx_state(process: Process, thread: HostThread, number: int) -> tuple[int, int]:
    return int(contexts.primary(process, number) is not None), 0


def get_mem_info(process: Process, thread: HostThread, attribute: int) -> tuple[int, int]:
    return contexts.current(thread).dev.memory_info(attribute)
