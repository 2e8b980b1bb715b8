"""acl.rt: virtual addresses and physical memory, memory shared between processes."""

from __future__ import annotations

from npu.runtime import ipc, shared, virtual_memory
from npu.runtime.process import Process
from npu.runtime.thread import HostThread

GROUP = "rt"
__all__ = [
    "free_physical",
    "ipc_mem_close",
    "ipc_mem_get_export_key",
    "ipc_mem_import_by_key",
    "ipc_mem_set_import_pid",
    "malloc_physical",
    "map_mem",
    "mem_export_to_shareable_handle",
    "mem_get_allocation_granularity",
    "mem_import_from_shareable_handle",
    "mem_set_pid_to_shareable_handle",
    "release_mem_address",
    "reserve_mem_address",
    "unmap_mem",
]


def reserve_mem_address(process: Process, thread: HostThread, size: int, align: int, hint: int, flags: int) -> int:
    return virtual_memory.reserve(process, thread, size, align, hint, flags)


def release_mem_address(process: Process, thread: HostThread, address: int) -> None:
    virtual_memory.release(process, address)


def malloc_physical(process: Process, thread: HostThread, size: int, config: dict[str, object], flags: int) -> int:
    return virtual_memory.malloc(process, thread, size, config, flags)


def free_physical(process: Process, thread: HostThread, handle: int) -> None:
    virtual_memory.free(process, handle)


def map_mem(process: Process, thread: HostThread, address: int, size: int, offset: int, handle: int, flags: int) -> None:
    virtual_memory.map(process, thread, address, size, offset, handle, flags)


def unmap_mem(process: Process, thread: HostThread, address: int) -> None:
    virtual_memory.unmap(process, thread, address)


def mem_get_allocation_granularity(process: Process, thread: HostThread, config: dict[str, object], option: int) -> int:
    return virtual_memory.granularity(config, option)


def mem_export_to_shareable_handle(process: Process, thread: HostThread, handle: int, kind: int, flags: int) -> int:
    return virtual_memory.export(process, handle, kind, flags)


def mem_import_from_shareable_handle(process: Process, thread: HostThread, number: int, device: int) -> int:
    return virtual_memory.import_number(process, number, device)


def mem_set_pid_to_shareable_handle(process: Process, thread: HostThread, number: int, pids: list[int]) -> None:
    virtual_memory.allow(number, pids)


def ipc_mem_get_export_key(process: Process, thread: HostThread, address: int, size: int, length: int, flags: int) -> str:
    return ipc.export(process, address, size, length, flags)


def ipc_mem_set_import_pid(process: Process, thread: HostThread, key: str, pids: list[int]) -> None:
    shared.allow(key, pids)


def ipc_mem_import_by_key(process: Process, thread: HostThread, key: str, flags: int) -> int:
    return ipc.import_key(process, thread, key, flags)


def ipc_mem_close(process: Process, thread: HostThread, key: str) -> None:
    ipc.close(process, key)
