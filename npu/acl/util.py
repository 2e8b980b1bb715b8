"""acl.util: how memory, bytes and numpy meet. Plain Python helpers of the binding: they cost nothing on the timeline."""

from __future__ import annotations

import ctypes
import threading
import traceback
import warnings
from collections import deque
from typing import Any

from npu.errors import NpuError
from npu.runtime import host
from npu.runtime.process import Process
from npu.runtime.side import on_device
from npu.runtime.thread import HostThread

GROUP = "util"
__all__ = [
    "bytes_to_ptr",
    "numpy_contiguous_to_ptr",
    "numpy_to_ptr",
    "ptr_to_bytes",
    "ptr_to_numpy",
    "start_thread",
    "stop_thread",
]

KEPT = 64  # converted bytes objects kept alive: scripts convert a temporary and copy from its address afterwards
_recent: deque[bytes] = deque(maxlen=KEPT)
# numpy type numbers that the binding knows
_NUMBERS = {
    0: "bool",
    1: "int8",
    2: "uint8",
    3: "int16",
    4: "uint16",
    5: "int32",
    6: "uint32",
    7: "int64",
    8: "uint64",
    9: "int64",
    10: "uint64",
    11: "float32",
    12: "float64",
    23: "float16",
}


class _BytesHead(ctypes.Structure):
    """The head of a bytes object, whose data follows it (CPython)."""

    _fields_ = (("refcount", ctypes.c_ssize_t), ("type", ctypes.c_void_p), ("size", ctypes.c_ssize_t), ("hash", ctypes.c_ssize_t))


def bytes_to_ptr(process: Process, thread: HostThread, data: object) -> int:
    if not isinstance(data, bytes):
        raise ValueError("needs an byte as argument")
    _recent.append(data)
    return id(data) + ctypes.sizeof(_BytesHead)


def ptr_to_bytes(process: Process, thread: HostThread, pointer: int, size: int) -> bytes:
    _host_only(pointer, "ptr_to_bytes")
    known = host.pinned(process).find(pointer)
    if known is not None and pointer + size <= known[0] + known[1]:
        return ctypes.string_at(pointer, size)
    try:
        staged = host.Staged(size)
        host.read(staged.address, pointer, size)
    except NpuError as error:
        raise ValueError(f"acl.util.ptr_to_bytes: no readable host memory at {pointer:#x}") from error
    return ctypes.string_at(staged.address, size)


def numpy_to_ptr(process: Process, thread: HostThread, array: Any) -> int:
    import numpy as np

    if not isinstance(array, np.ndarray):
        raise TypeError("acl.util.numpy_to_ptr args parse failed")
    warnings.warn("numpy_to_ptr is deprecated, use bytes_to_ptr", stacklevel=3)
    if not array.flags["C_CONTIGUOUS"]:
        warnings.warn("the array is not C-contiguous, its bytes are not in the order of its elements", stacklevel=3)
    return int(array.__array_interface__["data"][0])


def numpy_contiguous_to_ptr(process: Process, thread: HostThread, array: Any) -> tuple[int, Any]:
    import numpy as np

    if not isinstance(array, np.ndarray):
        raise TypeError("acl.util.numpy_contiguous_to_ptr args parse failed")
    warnings.warn("numpy_contiguous_to_ptr is deprecated, use bytes_to_ptr", stacklevel=3)
    whole = np.ascontiguousarray(array)
    return int(whole.__array_interface__["data"][0]), whole


def ptr_to_numpy(process: Process, thread: HostThread, pointer: int, shape: tuple[int, ...], number: int) -> Any:
    import numpy as np

    if number not in _NUMBERS:
        raise ValueError(f"acl.util.ptr_to_numpy: numpy type number {number} is not supported")
    _host_only(pointer, "ptr_to_numpy")
    warnings.warn("ptr_to_numpy is deprecated, use ptr_to_bytes", stacklevel=3)
    dtype = np.dtype(_NUMBERS[number])
    count = 1
    for dim in shape:
        count *= int(dim)
    size = count * dtype.itemsize
    block = host.pinned(process).find(pointer)
    if block is not None and block[2] is not None and pointer - block[0] + size <= len(block[2]):
        # the array holds the mapping, so it may outlive free_host
        return np.frombuffer(block[2], dtype, count, pointer - block[0]).reshape(shape)
    buffer = (ctypes.c_char * size).from_address(pointer)
    return np.frombuffer(memoryview(buffer).cast("B"), dtype, count).reshape(shape)


def _host_only(pointer: int, name: str) -> None:
    if pointer == 0 or on_device(pointer):
        side = "NULL" if pointer == 0 else "a device address"
        raise ValueError(f"acl.util.{name}: {pointer:#x} is {side}, copy to host memory first")


# By the system's number, which an ended thread may share with one that was started later; the oldest first.
_threads: dict[int, list[tuple[threading.Thread, list[str]]]] = {}


def start_thread(process: Process, thread: HostThread, *given: object) -> tuple[int, int]:
    """A thread that calls a function with one argument. TypeError in the interpreter's words: the binding adds none here."""
    if len(given) != 2:
        raise TypeError(f"function takes exactly 2 arguments ({len(given)} given)")
    function, arguments = given
    if not callable(function):
        raise TypeError("parameter must be callable")
    failures: list[str] = []

    def run() -> None:
        try:
            function() if arguments is None else function(arguments)
        except Exception as error:  # noqa: BLE001 - whatever the script's function raises is collected and raised by stop_thread
            traceback.print_exc()
            failures.append(f"exception={type(error).__name__},msg=thread call failed;")

    started = threading.Thread(target=run, daemon=True)
    started.start()
    number = started.ident or 0
    _threads.setdefault(number, []).append((started, failures))
    return number, 0


def stop_thread(process: Process, thread: HostThread, number: int) -> int:
    of_number = _threads.get(number)
    if not of_number:
        return 3  # ESRCH, as pthread_join answers for no such thread
    running, failures = of_number.pop(0)
    thread.waiting = True
    try:
        running.join()
    finally:
        thread.waiting = False
    if failures:
        raise RuntimeError("".join(failures))
    return 0
