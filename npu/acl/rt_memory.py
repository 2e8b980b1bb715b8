"""acl.rt: memory and copies."""

from __future__ import annotations

from npu.errors import NpuError
from npu.runtime import host, memory, stream
from npu.runtime.process import Process
from npu.runtime.thread import HostThread

GROUP = "rt"
__all__ = [
    "free",
    "free_host",
    "malloc",
    "malloc_align32",
    "malloc_cached",
    "malloc_host",
    "memcpy",
    "memcpy_async",
    "memset",
    "memset_async",
]


def malloc(process: Process, thread: HostThread, size: int, policy: int) -> int:
    return memory.malloc(process, thread, size, policy)


def malloc_align32(process: Process, thread: HostThread, size: int, policy: int) -> int:
    return memory.malloc(process, thread, size, policy, padding=0)


def malloc_cached(process: Process, thread: HostThread, size: int, policy: int) -> int:
    return memory.malloc(process, thread, size, policy)


def free(process: Process, thread: HostThread, pointer: int) -> None:
    memory.free(process, thread, pointer)


def malloc_host(process: Process, thread: HostThread, size: int) -> int:
    if size == 0:
        raise NpuError("invalid_param", size=0)
    thread.bytes = size
    return host.pinned(process).alloc(size)


def free_host(process: Process, thread: HostThread, pointer: int) -> None:
    thread.bytes = host.pinned(process).drop(pointer)


def memcpy(process: Process, thread: HostThread, dst: int, dst_max: int, src: int, count: int, kind: int) -> None:
    memory.memcpy(process, thread, dst, dst_max, src, count, kind)


def memcpy_async(
    process: Process, thread: HostThread, dst: int, dst_max: int, src: int, count: int, kind: int, handle: int
) -> None:
    memory.memcpy_async(process, thread, dst, dst_max, src, count, kind, stream.of(process, thread, handle))


def memset(process: Process, thread: HostThread, pointer: int, limit: int, value: int, count: int) -> None:
    memory.memset(process, thread, pointer, limit, value, count)


def memset_async(process: Process, thread: HostThread, pointer: int, limit: int, value: int, count: int, handle: int) -> None:
    memory.memset(process, thread, pointer, limit, value, count, stream.of(process, thread, handle))
