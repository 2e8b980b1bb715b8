"""Other forms of copies: rows with pitches, copies by a descriptor; and where an address lies."""

from __future__ import annotations

import ctypes
from typing import NamedTuple

from npu.device.memory import BASE
from npu.errors import NpuError
from npu.runtime import host
from npu.runtime.context import on
from npu.runtime.copy import D2D, D2H, H2D, H2H, Copy, checked, queue_copy
from npu.runtime.memory import device_at
from npu.runtime.process import Process
from npu.runtime.side import Side
from npu.runtime.stream import Stream
from npu.runtime.thread import HostThread

DESCRIBED_BYTES = 64  # of a copy descriptor in device memory (unverified)
# aclrtMemLocationType
HOST, DEVICE, UNREGISTERED = 0, 1, 2
HOST_PAGE = 4096


class Rows(Copy):
    """A copy of `height` rows of `width` bytes, which lie a pitch apart on each side."""

    def __init__(
        self, process: Process, dst: int, dpitch: int, src: int, spitch: int, width: int, height: int, kind: int
    ) -> None:
        self.pitches, self.width, self.height = (dpitch, spitch), width, height
        last = height - 1
        super().__init__(process, dst, src, width * height, kind, last * dpitch + width, last * spitch + width)

    def spans(self, pitch: int) -> list[tuple[int, int]]:
        return [(row * self.pitches[pitch], self.width) for row in range(self.height)]

    def move(self, source: int) -> None:
        dpitch, spitch = self.pitches
        step = self.width if source else spitch
        if source == 0 and self.src.guarded:
            staged = self.stage()
            source, step = staged.address, self.width
        begin = source or self.src.place()
        if self.dst.guarded:
            for row in range(self.height):
                host.write(self.dst.address + row * dpitch, begin + row * step, self.width)
            return
        self.dst.touched()
        place = self.dst.place()
        for row in range(self.height):
            ctypes.memmove(place + row * dpitch, begin + row * step, self.width)

    def stage(self) -> host.Staged:
        staged = host.Staged(self.count)
        for row in range(self.height):
            host.read(staged.address + row * self.width, self.src.address + row * self.pitches[1], self.width)
        return staged


def rows(process: Process, dst: int, dpitch: int, src: int, spitch: int, width: int, height: int, kind: int) -> Rows | None:
    """A checked copy of rows, None when there is nothing to copy. NpuError invalid_param, invalid_size."""
    if kind not in (H2H, H2D, D2H, D2D):
        raise NpuError("invalid_param", kind=kind)
    if width > dpitch or width > spitch:
        raise NpuError("invalid_size", count=width, dst_max=min(dpitch, spitch))
    if width == 0 or height == 0:
        return None
    return Rows(process, dst, dpitch, src, spitch, width, height, kind)


class Described(NamedTuple):
    """A copy as a descriptor holds it."""

    kind: int
    src: int
    dst: int
    size: int


class Descriptors:
    """What the descriptors in device memory hold, by their address."""

    def __init__(self) -> None:
        self.filled: dict[int, Described] = {}


def described_size(kind: int) -> int:
    """Bytes of a descriptor. NpuError invalid_param for a kind that cannot be described: only copies within devices can."""
    if kind not in (D2D, 6, 7):
        raise NpuError("invalid_param", kind=kind)
    return DESCRIBED_BYTES


def describe(process: Process, desc: int, kind: int, src: int, dst: int, count: int) -> None:
    """Fill a descriptor that lies in device memory."""
    described_size(kind)
    Side(process, desc, DESCRIBED_BYTES, True)
    process.one(Descriptors).filled[desc] = Described(kind, src, dst, count)


def described(process: Process, thread: HostThread, desc: int, kind: int, stream: Stream) -> None:
    """Queue the copy of a descriptor. NpuError invalid_param when it was not filled or is of another kind."""
    found = process.one(Descriptors).filled.get(desc)
    if found is None or found.kind != kind:
        raise NpuError("invalid_param", pointer=desc, reason="the descriptor was not filled for that kind")
    if found.size:
        queue_copy(process, thread, checked(process, found.dst, found.size, found.src, found.size, kind), stream)


def location(process: Process, address: int) -> tuple[int, int, int]:
    """(kind of place, device, bytes of a page) of an address. NpuError invalid_param for NULL."""
    if address == 0:
        raise NpuError("invalid_param", pointer=0)
    dev = device_at(process, address)
    found = dev.find(address) if dev is not None else None
    if dev is not None and found is not None:
        return DEVICE, on(dev)[0].device, found[0].page
    if address < BASE and host.pinned(process).find(address) is not None:
        return HOST, 0, HOST_PAGE
    return UNREGISTERED, 0, 0
