"""acl.rt: copies, fills, and small writes and waits on a stream."""

from __future__ import annotations

from npu.runtime import copy, copy_forms, device_op, memory, stream
from npu.runtime.process import Process
from npu.runtime.thread import HostThread

GROUP = "rt"
__all__ = [
    "cmo_async",
    "get_memcpy_desc_size",
    "memcpy",
    "memcpy2d",
    "memcpy2d_async",
    "memcpy_async",
    "memcpy_async_with_condition",
    "memcpy_async_with_desc",
    "memset",
    "memset_async",
    "reduce_async",
    "set_memcpy_desc",
    "value_wait",
    "value_write",
]


def memcpy(process: Process, thread: HostThread, dst: int, dst_max: int, src: int, count: int, kind: int) -> None:
    copy.memcpy(process, thread, dst, dst_max, src, count, kind)


def memcpy_async(
    process: Process, thread: HostThread, dst: int, dst_max: int, src: int, count: int, kind: int, handle: int
) -> None:
    copy.memcpy_async(process, thread, dst, dst_max, src, count, kind, stream.of(process, thread, handle))


def memcpy_async_with_condition(
    process: Process, thread: HostThread, dst: int, dst_max: int, src: int, count: int, kind: int, handle: int
) -> None:
    copy.memcpy_async(process, thread, dst, dst_max, src, count, kind, stream.of(process, thread, handle))


def memcpy2d(
    process: Process, thread: HostThread, dst: int, dpitch: int, src: int, spitch: int, width: int, height: int, kind: int
) -> None:
    rows = copy_forms.rows(process, dst, dpitch, src, spitch, width, height, kind)
    if rows is not None:
        copy.do_now(process, thread, rows)


def memcpy2d_async(
    process: Process,
    thread: HostThread,
    dst: int,
    dpitch: int,
    src: int,
    spitch: int,
    width: int,
    height: int,
    kind: int,
    on: int,
) -> None:
    where = stream.of(process, thread, on)
    rows = copy_forms.rows(process, dst, dpitch, src, spitch, width, height, kind)
    if rows is not None:
        copy.queue_copy(process, thread, rows, where)


def get_memcpy_desc_size(process: Process, thread: HostThread, kind: int) -> int:
    return copy_forms.described_size(kind)


def set_memcpy_desc(
    process: Process, thread: HostThread, desc: int, kind: int, src: int, dst: int, count: int, config: int
) -> int:
    copy_forms.describe(process, desc, kind, src, dst, count)
    return desc


def memcpy_async_with_desc(process: Process, thread: HostThread, desc: int, kind: int, handle: int) -> None:
    copy_forms.described(process, thread, desc, kind, stream.of(process, thread, handle))


def memset(process: Process, thread: HostThread, pointer: int, limit: int, value: int, count: int) -> None:
    memory.memset(process, thread, pointer, limit, value, count)


def memset_async(process: Process, thread: HostThread, pointer: int, limit: int, value: int, count: int, handle: int) -> None:
    memory.memset(process, thread, pointer, limit, value, count, stream.of(process, thread, handle))


def value_write(process: Process, thread: HostThread, pointer: int, value: int, flag: int, handle: int) -> None:
    device_op.value_write(process, thread, pointer, value, flag, stream.of(process, thread, handle))


def value_wait(process: Process, thread: HostThread, pointer: int, value: int, flag: int, handle: int) -> None:
    device_op.value_wait(process, thread, pointer, value, flag, stream.of(process, thread, handle))


def cmo_async(process: Process, thread: HostThread, pointer: int, size: int, kind: int, handle: int) -> None:
    device_op.cache_hint(process, thread, pointer, size, kind, stream.of(process, thread, handle))


def reduce_async(
    process: Process, thread: HostThread, dst: int, src: int, count: int, kind: int, dtype: int, handle: int, reserve: int
) -> None:
    device_op.reduce(process, thread, dst, src, count, kind, dtype, stream.of(process, thread, handle))
