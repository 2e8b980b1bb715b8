"""Host memory: bytes moved without ever crashing the interpreter.

Pageable addresses come from scripts and can be wrong, so they are read and written with process_vm_readv/writev on the
own process, which answer EFAULT where a plain copy would end it.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os

from npu.errors import NpuError
from npu.runtime.pinned import Pinned
from npu.runtime.process import Process

_libc = ctypes.CDLL(None, use_errno=True)
LARGE = 1 << 26  # bytes from which on memory is taken in pages: clearing it all would cost more than the copy


class _Span(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


def _vm(call: str, local: int, remote: int, count: int) -> bool:
    """One process_vm_* call on ourselves; False for a bad remote address. Falls back to a plain copy where it is forbidden."""
    ours, theirs = _Span(local, count), _Span(remote, count)
    function = getattr(_libc, call)
    moved = function(
        os.getpid(), ctypes.byref(ours), ctypes.c_ulong(1), ctypes.byref(theirs), ctypes.c_ulong(1), ctypes.c_ulong(0)
    )
    if moved == count:
        return True
    if moved < 0 and ctypes.get_errno() in (errno.ENOSYS, errno.EPERM):
        ctypes.memmove(*((local, remote) if call.endswith("readv") else (remote, local)), count)
        return True
    if moved > 0:  # a transfer is cut at 2 GiB; go on behind it
        return _vm(call, local + moved, remote + moved, count - moved)
    return False


def read(local: int, host: int, count: int) -> None:
    """Copy from a pageable host address to an address of ours. NpuError bad_host_pointer."""
    if not _vm("process_vm_readv", local, host, count):
        raise NpuError("bad_host_pointer", pointer=host, bytes=count)


def write(host: int, local: int, count: int) -> None:
    """Copy from an address of ours to a pageable host address. NpuError bad_host_pointer."""
    if not _vm("process_vm_writev", local, host, count):
        raise NpuError("bad_host_pointer", pointer=host, bytes=count)


def pinned(process: Process) -> Pinned:
    """The process's pinned memory."""
    return process.pinned


def _pages(count: int) -> ctypes.c_char:
    """Memory of which only what is written exists. NpuError host_memory."""
    try:
        return ctypes.c_char.from_buffer(mmap.mmap(-1, count))
    except (OSError, OverflowError) as error:
        raise NpuError("host_memory", size=count) from error


class Staged:
    """A private copy of host bytes, taken when an asynchronous copy was queued. NpuError host_memory: more than there can be."""

    __slots__ = ("_buffer", "address")

    def __init__(self, count: int) -> None:
        self._buffer = (ctypes.c_char * count)() if count < LARGE else _pages(count)
        self.address = ctypes.addressof(self._buffer)
