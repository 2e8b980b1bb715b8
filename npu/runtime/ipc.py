"""Device memory shared between processes by key: the owner's block moves into a file that the others map."""

from __future__ import annotations

import ctypes
import mmap

from npu.errors import NpuError
from npu.runtime import shared
from npu.runtime.context import current
from npu.runtime.process import Process
from npu.runtime.side import Side
from npu.runtime.thread import HostThread

EVERYBODY = 1  # export flag: any process may open it
PEER_ACCESS = 1  # import flag: reach memory of another device
KEY_BYTES = 65  # what scripts reserve for a key (unverified); keys here are shorter


class Opened:
    """Shared memory in use here. address: device address; memory keeps the mapping."""

    def __init__(self, address: int, memory: mmap.mmap, exported: bool) -> None:
        self.address, self.memory, self.exported = address, memory, exported


class Keys:
    """What this process has open, by key."""

    def __init__(self) -> None:
        self.opened: dict[str, Opened] = {}


def _table(process: Process) -> dict[str, Opened]:
    return process.one(Keys).opened


def export(process: Process, address: int, size: int, length: int, flags: int) -> str:
    """A key for a block of device memory. NpuError invalid_param, not_device_memory, ipc."""
    if size == 0 or flags & ~EVERYBODY or length < KEY_BYTES or length >= shared.MOST_KEY:
        raise NpuError("invalid_param", size=size, length=length, flags=flags, reason=f"a key takes {KEY_BYTES} characters")
    side = Side(process, address, size, True)
    if side.dev is None or side.block is None or side.offset:
        raise NpuError("invalid_param", pointer=address, reason="only a whole block of device memory can be exported")
    key = shared.publish(process, "memory", side.block.span, side.dev.device, bool(flags & EVERYBODY))
    memory, place = shared.mapped(key, side.block.span)
    ctypes.memmove(place, side.place(), side.block.span)
    side.dev.move(side.block.address, place)
    _table(process)[key] = Opened(address, memory, exported=True)
    return key


def import_key(process: Process, thread: HostThread, key: str, flags: int) -> int:
    """A device address of this process for another one's memory. NpuError ipc_key, no_context, invalid_param."""
    if flags & ~PEER_ACCESS:
        raise NpuError("invalid_param", flags=flags)
    dev = current(thread).dev
    facts = shared.enter(key, "memory")
    if facts.device != dev.device and not flags & PEER_ACCESS:
        raise NpuError("ipc_key", key=key, reason=f"it lies on device {facts.device}: import it with peer access")
    if key in _table(process):
        raise NpuError("ipc_key", key=key, reason="it is already open in this process")
    memory, place = shared.mapped(key, facts.size)
    address = dev.window(facts.size, 2 << 20)
    dev.attach(address, facts.size, place)
    _table(process)[key] = Opened(address, memory, exported=False)
    return address


def close(process: Process, key: str) -> None:
    """End the use of a key here; the owner takes it back. NpuError ipc_key when it is not open here."""
    found = _table(process).get(key)
    if found is None:
        raise NpuError("ipc_key", key=key, reason="it is not open in this process")
    if found.exported:
        shared.withdraw(key)  # the block stays where it is: the mapping lives on without a name
        return
    del _table(process)[key]
    for dev in process.devices.values():
        dev.detach(found.address)
