"""Small operations a stream can hold: writing and awaiting a value in memory, cache hints, reductions into a buffer."""

from __future__ import annotations

import struct
from collections.abc import Callable

from npu.device.task import COPY, OTHER, PLAIN, Task
from npu.errors import NpuError
from npu.runtime.process import Process
from npu.runtime.side import Side, nominal_ns
from npu.runtime.stream import Stream, queue
from npu.runtime.tensor_desc import NAMES
from npu.runtime.thread import HostThread

VALUE_BYTES = 8
VALUE_NS = 500  # device time of a write of a value (unverified)
# wait flag -> whether a value in memory ends the wait for the wanted one
CONDITIONS: dict[int, Callable[[int, int], bool]] = {
    0: lambda found, wanted: found >= wanted,
    1: lambda found, wanted: found == wanted,
    2: lambda found, wanted: bool(found & wanted),
    3: lambda found, wanted: (found | wanted) != (1 << 64) - 1,
}
STATUS_BYTES = 64  # of an overflow status in memory
STATUS_NS = 2_000  # device time to write or clear it (unverified)
CACHE_HINTS = range(4)  # aclrtCmoType: prefetch, write back, invalidate, flush
CACHE_BYTES_PER_NS = 1000.0  # how fast a hint walks its range, GB/s (unverified)
SUM, MAX, MIN = 10, 11, 12  # aclrtReduceKind
REDUCED = ("float32", "float16", "int16", "int32", "int8", "bfloat16")


def value_write(process: Process, thread: HostThread, address: int, value: int, flag: int, stream: Stream) -> None:
    """Queue writing eight bytes. NpuError invalid_param for a flag, what is wrong with the address."""
    if flag:
        raise NpuError("invalid_param", flag=flag)
    side = Side(process, address, VALUE_BYTES, True)
    data = struct.pack("<Q", value)
    queue(process, thread, stream, OTHER, VALUE_NS, "WRITE_VALUE", on_done=lambda _time: side.write(data),
          writes=side.range(VALUE_BYTES))  # fmt: skip


def value_wait(process: Process, thread: HostThread, address: int, value: int, flag: int, stream: Stream) -> None:
    """Queue waiting until the eight bytes at an address fulfil the condition of the flag."""
    if flag not in CONDITIONS:
        raise NpuError("invalid_param", flag=flag)
    side = Side(process, address, VALUE_BYTES, True)
    condition = CONDITIONS[flag]

    def gate() -> int:
        return 0 if condition(struct.unpack("<Q", side.read(VALUE_BYTES))[0], value) else -1

    queue(process, thread, stream, OTHER, 0, "WAIT_VALUE", gate=gate, reads=side.range(VALUE_BYTES))


def overflow_status(process: Process, thread: HostThread, address: int, size: int, stream: Stream) -> None:
    """Queue writing the overflow status. Arithmetic here keeps IEEE rules, so none is ever flagged. NpuError invalid_size."""
    if size < STATUS_BYTES:
        raise NpuError("invalid_size", count=STATUS_BYTES, dst_max=size)
    side = Side(process, address, STATUS_BYTES, True)
    clear = bytes(STATUS_BYTES)
    queue(process, thread, stream, OTHER, STATUS_NS, "GET_OVERFLOW_STATUS", on_done=lambda _time: side.write(clear))


def reset_overflow(process: Process, thread: HostThread, stream: Stream) -> None:
    """Queue clearing it."""
    queue(process, thread, stream, OTHER, STATUS_NS, "RESET_OVERFLOW_STATUS")


def cache_hint(process: Process, thread: HostThread, address: int, size: int, kind: int, stream: Stream) -> None:
    """Queue a hint about the cache: it takes time and changes no data."""
    if kind not in CACHE_HINTS or size == 0:
        raise NpuError("invalid_param", type=kind, size=size)
    Side(process, address, size, True)
    queue(process, thread, stream, OTHER, max(VALUE_NS, round(size / CACHE_BYTES_PER_NS)), "CMO_TASK")


def reduce(process: Process, thread: HostThread, dst: int, src: int, count: int, kind: int, dtype: int, stream: Stream) -> None:
    """Queue dst = dst (+, max, min) src over `count` bytes, on the copy engine. NpuError invalid_param, not_supported."""
    name = NAMES.get(dtype)
    if name not in REDUCED or count == 0:
        raise NpuError("invalid_param", dtype=dtype, count=count)
    if kind not in (SUM, MAX, MIN):
        raise NpuError("not_supported", kind=kind)
    source, target = Side(process, src, count, True), Side(process, dst, count, True)
    recording = process.recording
    thread.correlation, thread.bytes = recording.correlation(), count
    row = recording.row("SDMA_REDUCE", -1, source.range(count), target.range(count), count) if recording.on else PLAIN
    task = Task(COPY, nominal_ns(process, "d2d", False, count), row, engine="d2d")
    task.correlation = thread.correlation
    task.on_done = lambda _time: target.write(_combined(name, kind, target.read(count), source.read(count)))
    stream.submit(process, thread, task)


def _combined(name: str, kind: int, one: bytes, other: bytes) -> bytes:
    import numpy as np

    combine = {SUM: np.add, MAX: np.maximum, MIN: np.minimum}[kind]
    if name == "bfloat16":  # the upper half of a float32
        wide = [np.left_shift(np.frombuffer(x, np.uint16).astype(np.uint32), 16).view(np.float32) for x in (one, other)]
        return bytes((combine(*wide).view(np.uint32) >> 16).astype(np.uint16).tobytes())
    return bytes(combine(np.frombuffer(one, name), np.frombuffer(other, name)).astype(name).tobytes())
