"""Physical memory and addresses apart: reserve addresses, take physical memory, map one onto the other.

The bytes of physical memory are a file; mapping it is a real mapping of that file into the reservation's own memory, so
that the same physical memory seen at two addresses, or in two processes, is the same memory.
"""

from __future__ import annotations

import ctypes
import mmap
import os

from npu.driver.door import DriverError, Handle
from npu.errors import NpuError
from npu.runtime import shared
from npu.runtime.context import current
from npu.runtime.drain import drain
from npu.runtime.process import Process
from npu.runtime.thread import HostThread

GRANULARITY = 2 << 20  # of physical memory and of mappings: a huge page
GIANT = 1 << 30
# location kinds of physical memory (aclrtMemLocationType)
HOST, DEVICE = 0, 1
EVERYBODY = 1  # export flag
KNOWN_ATTRIBUTES = range(18)  # aclrtMemAttr

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
_FIXED, _NORESERVE, _FAILED = 0x10, 0x4000, ctypes.c_void_p(-1).value


class Reservation:
    """A range of device addresses and the process memory behind it. mapped: offset -> (bytes, physical handle)."""

    def __init__(self, dev: Handle, address: int, size: int) -> None:
        self.dev, self.address, self.size = dev, address, size
        self.memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE)
        self.place = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        self.mapped: dict[int, tuple[int, int]] = {}


class Physical:
    """Physical memory. own: this process took it, so it gives it back. uses: how many mappings it has."""

    def __init__(self, dev: Handle, size: int, fd: int, key: str, own: bool) -> None:
        self.dev, self.size, self.fd, self.key, self.own = dev, size, fd, key, own
        self.uses = 0


def _reservations(process: Process) -> list[Reservation]:
    return [o for o in process.objects.values() if isinstance(o, Reservation)]


def _around(process: Process, address: int, size: int) -> tuple[Reservation, int]:
    """The reservation a range lies in and its offset there. NpuError invalid_param."""
    for found in _reservations(process):
        if found.address <= address and address + size <= found.address + found.size:
            return found, address - found.address
    raise NpuError("invalid_param", pointer=address, size=size, reason="the range lies in no reservation")


def reserve(process: Process, thread: HostThread, size: int, align: int, hint: int, flags: int) -> int:
    """Addresses without memory. NpuError invalid_param, no_context."""
    if size == 0 or size % GRANULARITY or hint or flags not in (0, 1):
        raise NpuError("invalid_param", size=size, hint=hint, flags=flags, reason=f"size in {GRANULARITY} bytes, no hint")
    if align & (align - 1):
        raise NpuError("invalid_param", align=align, reason="not a power of two")
    dev = current(thread).dev
    address = dev.window(size, max(align, GRANULARITY))
    process.register(Reservation(dev, address, size))
    return address


def release(process: Process, address: int) -> None:
    """Give addresses back. NpuError invalid_param when none begin there or something is still mapped."""
    for handle, found in list(process.objects.items()):
        if isinstance(found, Reservation) and found.address == address:
            if found.mapped:
                raise NpuError("invalid_param", pointer=address, reason="memory is still mapped there")
            del process.objects[handle]
            return
    raise NpuError("invalid_param", pointer=address, reason="no reservation begins there")


def _place(config: dict[str, object]) -> tuple[int, int]:
    """(kind, id) of the location in a description of physical memory. NpuError invalid_param."""
    location = config.get("location")
    kind, number = (location.get("type"), location.get("id")) if isinstance(location, dict) else (None, None)
    attribute = config.get("memAttr", 1)
    if not isinstance(kind, int) or not isinstance(number, int) or attribute not in KNOWN_ATTRIBUTES:
        raise NpuError("invalid_param", location=location, attribute=attribute)
    if kind != DEVICE:
        raise NpuError("not_supported", location=location, reason="physical memory of the host")
    return kind, number


def granularity(config: dict[str, object], option: int) -> int:
    """Smallest or recommended unit of physical memory, bytes. NpuError invalid_param."""
    _place(config)
    if option not in (0, 1):
        raise NpuError("invalid_param", option=option)
    giant = config.get("memAttr") in (10, 11, 14, 17)
    return GIANT if giant else GRANULARITY


def malloc(process: Process, thread: HostThread, size: int, config: dict[str, object], flags: int) -> int:
    """A handle of new physical memory on a device. NpuError invalid_param, no_memory, invalid_device."""
    _, number = _place(config)
    if size == 0 or size % granularity(config, 0) or flags:
        raise NpuError("invalid_param", size=size, flags=flags)
    dev = process.devices.get(process.physical(number))
    if dev is None:
        raise NpuError("no_context", device=number)
    try:
        dev.hold(size)
    except DriverError as error:
        raise NpuError(error.situation, size=size, **error.facts) from error
    thread.bytes = size
    fd = os.memfd_create("npu-physical", os.MFD_CLOEXEC)
    os.ftruncate(fd, size)
    return process.register(Physical(dev, size, fd, "", own=True))


def free(process: Process, handle: int) -> None:
    """Give physical memory back. NpuError invalid_param while it is mapped."""
    found = process.get(handle, Physical, "invalid_param")
    if found.uses:
        raise NpuError("invalid_param", handle=handle, reason="the memory is still mapped")
    del process.objects[handle]
    os.close(found.fd)
    if found.own:
        found.dev.let_go(found.size)


def _map_file(place: int, size: int, fd: int) -> None:
    """Put a file (fd) or nothing (-1) at a place in this process."""
    flags = _FIXED | (mmap.MAP_SHARED if fd >= 0 else mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE)
    if _libc.mmap(place, size, mmap.PROT_READ | mmap.PROT_WRITE, flags, fd, 0) == _FAILED:
        raise NpuError("driver_failure", reason=os.strerror(ctypes.get_errno()))


def map(process: Process, thread: HostThread, address: int, size: int, offset: int, handle: int, flags: int) -> None:
    """Make reserved addresses physical memory, when the device is idle. NpuError invalid_param."""
    physical = process.get(handle, Physical, "invalid_param")
    if offset or flags or size != physical.size:
        raise NpuError("invalid_param", size=size, offset=offset, flags=flags, reason="physical memory is mapped whole")
    reservation, at = _around(process, address, size)
    drain(process, thread, reservation.dev)
    if at % GRANULARITY or any(at < o + n and o < at + size for o, (n, _) in reservation.mapped.items()):
        raise NpuError("invalid_param", pointer=address, reason="unaligned, or something is mapped there")
    _map_file(reservation.place + at, size, physical.fd)
    reservation.mapped[at] = (size, handle)
    physical.uses += 1
    reservation.dev.attach(address, size, reservation.place + at)


def unmap(process: Process, thread: HostThread, address: int) -> None:
    """Take a mapping back, when the device is idle. NpuError invalid_param when none begins there."""
    reservation, at = _around(process, address, 0)
    drain(process, thread, reservation.dev)
    if at not in reservation.mapped:
        raise NpuError("invalid_param", pointer=address, reason="nothing is mapped there")
    size, handle = reservation.mapped.pop(at)
    _map_file(reservation.place + at, size, -1)
    process.get(handle, Physical).uses -= 1
    reservation.dev.detach(address)


def export(process: Process, handle: int, kind: int, flags: int) -> int:
    """A number by which another process can have the same physical memory. NpuError invalid_param, ipc."""
    found = process.get(handle, Physical, "invalid_param")
    if kind not in (1, 2) or flags & ~EVERYBODY:
        raise NpuError("invalid_param", type=kind, flags=flags)
    if not found.key:
        number = int.from_bytes(os.urandom(7), "little") | 1
        found.key = _key(number)
        shared.lend(process, found.key, "physical", found.size, found.dev.device, bool(flags & EVERYBODY), found.fd)
    return int(found.key.rpartition("-")[2])


def _key(number: int) -> str:
    return f"npu-physical-{number}"


def import_number(process: Process, number: int, device: int) -> int:
    """A handle of another process's physical memory. NpuError ipc_key, no_context."""
    dev = process.devices.get(process.physical(device))
    if dev is None:
        raise NpuError("no_context", device=device)
    facts = shared.enter(_key(number), "physical")
    return process.register(Physical(dev, facts.size, shared.fd(_key(number)), _key(number), own=False))


def allow(number: int, pids: list[int]) -> None:
    """Let further processes import it. NpuError ipc_key."""
    shared.allow(_key(number), pids)
