"""acl.rt: memory allocators of the script's own, and the streams they are for."""

from __future__ import annotations

from collections.abc import Callable

from npu.errors import NpuError
from npu.runtime import stream
from npu.runtime.process import Process
from npu.runtime.thread import HostThread

GROUP = "rt"
__all__ = [
    "allocator_create_desc",
    "allocator_destroy_desc",
    "allocator_register",
    "allocator_set_alloc_advise_func_to_desc",
    "allocator_set_alloc_func_to_desc",
    "allocator_set_free_func_to_desc",
    "allocator_set_get_addr_from_block_func_to_desc",
    "allocator_set_obj_to_desc",
    "allocator_unregister",
]


class Allocator:
    """An allocator of the script's. The binding throws away what a Python callback answers, so that none is ever asked."""

    def __init__(self) -> None:
        self.parts: dict[str, object] = {}


def allocator_create_desc(process: Process, thread: HostThread) -> int:
    return process.register(Allocator())


def allocator_destroy_desc(process: Process, thread: HostThread, handle: int) -> None:
    process.drop(handle, Allocator)


def _set(process: Process, handle: int, part: str, value: object) -> None:
    process.get(handle, Allocator, "invalid_param").parts[part] = value


def allocator_set_obj_to_desc(process: Process, thread: HostThread, handle: int, thing: int) -> None:
    _set(process, handle, "obj", thing)


def allocator_set_alloc_func_to_desc(process: Process, thread: HostThread, handle: int, function: Callable[..., object]) -> None:
    _set(process, handle, "alloc", function)


def allocator_set_free_func_to_desc(process: Process, thread: HostThread, handle: int, function: Callable[..., object]) -> None:
    _set(process, handle, "free", function)


def allocator_set_alloc_advise_func_to_desc(
    process: Process, thread: HostThread, handle: int, function: Callable[..., object]
) -> None:
    _set(process, handle, "alloc_advise", function)


def allocator_set_get_addr_from_block_func_to_desc(
    process: Process, thread: HostThread, handle: int, function: Callable[..., object]
) -> None:
    _set(process, handle, "get_addr_from_block", function)


def allocator_register(process: Process, thread: HostThread, on: int, handle: int) -> None:
    allocator = process.get(handle, Allocator, "invalid_param")
    missing = {"obj", "alloc", "free"} - set(allocator.parts)
    if missing:
        raise NpuError("invalid_param", missing=", ".join(sorted(missing)))
    stream.of(process, thread, on).allocator = handle


def allocator_unregister(process: Process, thread: HostThread, on: int) -> None:
    where = stream.of(process, thread, on)
    if not where.allocator:
        raise NpuError("invalid_param", reason="the stream has no allocator")
    where.allocator = 0
