"""acl.rt: device memory, page-locked host memory."""

from __future__ import annotations

from npu.cost import pages_ns
from npu.errors import NpuError
from npu.runtime import copy_forms, host, memory
from npu.runtime.process import Process
from npu.runtime.side import Side
from npu.runtime.thread import HostThread

GROUP = "rt"
__all__ = [
    "free",
    "free_host",
    "host_get_device_pointer",
    "host_register",
    "host_register_v2",
    "host_unregister",
    "malloc",
    "malloc_align32",
    "malloc_cached",
    "malloc_for_task_scheduler",
    "malloc_host",
    "malloc_host_with_cfg",
    "malloc_with_cfg",
    "mem_flush",
    "mem_invalidate",
    "pointer_get_attributes",
]

PAGE = 4096  # of host memory
HOST_KINDS = (0, 4, 8)  # aclrtHostRegisterType
MAPPED_FLAGS, KNOWN_FLAGS = 0x2 | 0x4, 0x1000_000E  # of host_register_v2
ATTRIBUTES = range(4)  # aclrtMallocAttrType


def malloc(process: Process, thread: HostThread, size: int, policy: int) -> int:
    return memory.malloc(process, thread, size, policy)


def malloc_align32(process: Process, thread: HostThread, size: int, policy: int) -> int:
    return memory.malloc(process, thread, size, policy, padding=0)


def malloc_cached(process: Process, thread: HostThread, size: int, policy: int) -> int:
    return memory.malloc(process, thread, size, policy)


def mem_flush(process: Process, thread: HostThread, pointer: int, size: int) -> None:
    Side(process, pointer, size, True)


def mem_invalidate(process: Process, thread: HostThread, pointer: int, size: int) -> None:
    Side(process, pointer, size, True)


def _checked(config: dict[str, object]) -> None:
    """{} or {"numAttrs": n, "attrs": [{"attr": type, "value": {...}}]}"""
    attributes = config.get("attrs", [])
    if not isinstance(attributes, list) or config.get("numAttrs", len(attributes)) != len(attributes):
        raise NpuError("invalid_param", config=config, reason="numAttrs does not count attrs")
    for one in attributes:
        if not isinstance(one, dict) or one.get("attr") not in ATTRIBUTES:
            raise NpuError("invalid_param", attribute=one)


def malloc_with_cfg(process: Process, thread: HostThread, size: int, policy: int, config: dict[str, object]) -> int:
    _checked(config)
    return memory.malloc(process, thread, size, policy)


def malloc_for_task_scheduler(process: Process, thread: HostThread, size: int, policy: int, config: dict[str, object]) -> int:
    _checked(config)
    return memory.malloc(process, thread, size, policy)


def free(process: Process, thread: HostThread, pointer: int) -> None:
    memory.free(process, thread, pointer)


def malloc_host(process: Process, thread: HostThread, size: int) -> int:
    if size == 0:
        raise NpuError("invalid_param", size=0)
    thread.bytes = size
    address = host.pinned(process).alloc(size)
    thread.clock.now += pages_ns(-(-size // PAGE), "clear", "pin")
    return address


def malloc_host_with_cfg(process: Process, thread: HostThread, size: int, config: dict[str, object]) -> int:
    _checked(config)
    return malloc_host(process, thread, size)


def free_host(process: Process, thread: HostThread, pointer: int) -> None:
    thread.bytes = host.pinned(process).drop(pointer)
    thread.clock.now += pages_ns(-(-thread.bytes // PAGE), "unpin")


def host_register(process: Process, thread: HostThread, pointer: int, size: int, kind: int) -> int:
    if kind not in HOST_KINDS:
        raise NpuError("invalid_param", type=kind)
    host.pinned(process).register(pointer, size, mapped=True)
    thread.clock.now += pages_ns(-(-size // PAGE), "pin")
    return pointer  # the device uses it by its own address


def host_register_v2(process: Process, thread: HostThread, pointer: int, size: int, flag: int) -> None:
    if flag == 0 or flag & ~KNOWN_FLAGS:
        raise NpuError("invalid_param", flag=flag)
    host.pinned(process).register(pointer, size, mapped=bool(flag & MAPPED_FLAGS))
    thread.clock.now += pages_ns(-(-size // PAGE), "pin")


def host_unregister(process: Process, thread: HostThread, pointer: int) -> None:
    thread.bytes = host.pinned(process).unregister(pointer)
    thread.clock.now += pages_ns(-(-thread.bytes // PAGE), "unpin")


def host_get_device_pointer(process: Process, thread: HostThread, pointer: int, flag: int) -> int:
    known = host.pinned(process).find(pointer)
    if flag or known is None or not host.pinned(process).is_mapped(known[0]):
        raise NpuError("host_not_registered", pointer=pointer)
    return pointer


def pointer_get_attributes(process: Process, thread: HostThread, pointer: int) -> dict[str, object]:
    place, number, page = copy_forms.location(process, pointer)
    return {"location": {"id": number, "type": place}, "page_size": page, "rsv": [0, 0, 0, 0]}
