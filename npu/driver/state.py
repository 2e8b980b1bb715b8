"""The device table: which processes hold how much of which device, how busy they are, and how healthy the devices are.

It is one mapped file (npu.driver.shared). A client claims a slot and books its memory there; whoever looks removes the
clients that have died, so a killed process is gone at the next look. Layout in int64 words: header, 16 device records,
256 slots; a slot has 8 words of its own and 8 for each device.

Per device a running total of what the slots hold makes booking cheap (no walk over the slots). Each change writes slot
and total in the order that can only leave the total too high when the writer is killed in between; a refusal therefore
counts anew, without the dead, before it stands.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from time import CLOCK_REALTIME, clock_gettime_ns  # not time.time_ns: the simulator gives the script's own clock through that
from typing import NamedTuple

from npu.driver.alive import look
from npu.driver.door import DriverError
from npu.driver.shared import HEADER, SharedWords, state_folder

VERSION = 1
DEVICES = 16
SLOTS = 256
SILENT_NS = 3_000_000_000  # a client that published nothing for longer counts as idle (design: processes)
HEALTH = ("OK", "Warning", "Alarm", "Critical", "UNKNOWN")  # by level, as the device tool names them

_HIGH = 8  # header word: slots from here on were never used
_DEVICE_WORDS = 128
_TOTAL, _HEALTH, _DOUBLE, _ISOLATED, _PACE, _SOC, _FAULTS = 0, 1, 2, 3, 4, 8, 16  # in a device record; _SOC, _FAULTS: text
_SOC_BYTES, _FAULT_BYTES = (_FAULTS - _SOC) * 8, (_DEVICE_WORDS - _FAULTS) * 8
_CELL_WORDS = 8
_BYTES, _HUGE, _AIC, _AIV, _AICPU, _HBM, _TIME = range(7)  # in a cell: one client on one device
_PID, _START, _CELLS = 0, 1, 8  # in a slot
_SLOT_WORDS = _CELLS + DEVICES * _CELL_WORDS
_SLOT_BASE = HEADER + DEVICES * _DEVICE_WORDS
_WORDS = _SLOT_BASE + SLOTS * _SLOT_WORDS


class Slot(NamedTuple):
    """A claimed slot. process: who claimed it; a forked child that still has this value must attach anew."""

    number: int
    pid: int
    start: int
    process: int


class Use(NamedTuple):
    """What one client has of one device. Shares and HBM demand 0..1000, zero when it published nothing for 3 s."""

    held: int  # bytes
    huge_pages: int
    aic: int
    aiv: int
    aicpu: int
    hbm: int
    published: int  # unix ns, 0 = never


class Client(NamedTuple):
    """A living client: `uses` holds the devices it has memory on or keeps busy."""

    pid: int
    name: str
    uses: dict[int, Use]


class Facts(NamedTuple):
    """What is true of a device for all processes. soc: the chip its last user simulated, empty before the first. double_bits,
    isolated: memory errors and pages taken out of use since they were cleared; pace: how many times as long its kernels take."""

    health: str = "OK"
    faults: tuple[str, ...] = ()
    soc: str = ""
    double_bits: int = 0
    isolated: int = 0
    pace: float = 1.0


class Table:
    """The table as one process sees it. Every call is safe among threads and processes."""

    def __init__(self, shared: SharedWords) -> None:
        self._shared, self._words, self.path = shared, shared.words, shared.path

    @classmethod
    def open(cls, folder: str | None = None, environ: Mapping[str, str] | None = None) -> Table:
        """The table in `folder` (default: state_folder), made or rebuilt if there is none to use. DriverError driver_failure."""
        table = cls(SharedWords(state_folder(environ) if folder is None else folder, VERSION, _WORDS))
        table._sweep(recount=True)
        return table

    def close(self) -> None:
        self._shared.close()

    def attach(self, pid: int | None = None) -> Slot:
        """Claim a slot for a process, default this one; its present slot when it has one. DriverError busy: all are taken."""
        process = look(os.getpid() if pid is None else pid)
        if process is None:
            raise DriverError("driver_failure", pid=pid, reason="no such process in /proc")
        with self._shared.lock:
            index = self._find(process.pid, process.start)
            if index is None:
                index = self._free()
                at = _slot(index)
                self._words[at + _START] = process.start
                self._words[_HIGH] = max(self._high(), index + 1)
                self._words[at + _PID] = process.pid  # last: from here on the slot is claimed
        return Slot(index, process.pid, process.start, os.getpid())

    def drop(self, slot: Slot) -> None:
        """Give the slot and everything booked on it back. A slot that is no longer this client's is left alone."""
        with self._shared.lock:
            if self._holds(slot.number, slot.pid, slot.start):
                self._clear(slot.number)

    def reserve(self, slot: Slot, device: int, size: int, huge_pages: int, capacity: int) -> bool:
        """Book memory; False, and nothing booked, when all living clients together would hold more than capacity. Bytes."""
        cell, total = self._cell(slot, device), _device(device) + _TOTAL
        if size < 0 or huge_pages < 0:
            raise DriverError("invalid_size", size=size, huge_pages=huge_pages)
        with self._shared.lock:
            self._check(slot)
            if self._words[total] + size > capacity:
                self._sweep(recount=True)
                if self._words[total] + size > capacity:
                    return False
            self._words[total] += size
            self._words[cell + _BYTES] += size
            self._words[cell + _HUGE] += huge_pages
        return True

    def release(self, slot: Slot, device: int, size: int, huge_pages: int) -> None:
        """Book memory back. DriverError free_failed when the client holds less than that."""
        cell, total = self._cell(slot, device), _device(device) + _TOTAL
        with self._shared.lock:
            self._check(slot)
            held, huge = self._words[cell + _BYTES], self._words[cell + _HUGE]
            if not 0 <= size <= held or not 0 <= huge_pages <= huge:
                raise DriverError("free_failed", size=size, held=held, huge_pages=huge_pages, huge_held=huge)
            self._words[cell + _BYTES] = held - size
            self._words[cell + _HUGE] = huge - huge_pages
            self._words[total] -= size

    def publish(self, slot: Slot, device: int, aic: int, aiv: int, aicpu: int, hbm: int) -> None:
        """Busy shares of the last simulated second and HBM demand, 0..1000 each (cut to that). At most every 100 ms."""
        cell = self._cell(slot, device)
        now = clock_gettime_ns(CLOCK_REALTIME)
        with self._shared.lock:
            self._check(slot)
            for at, share in ((_AIC, aic), (_AIV, aiv), (_AICPU, aicpu), (_HBM, hbm)):
                self._words[cell + at] = min(max(share, 0), 1000)
            self._words[cell + _TIME] = now

    def clients(self, now: int | None = None) -> list[Client]:
        """All living clients in the order of their slots, the dead removed first. now: unix ns, default the clock."""
        alive = self._sweep()
        with self._shared.lock:
            high = self._high()
            words = self._words[_SLOT_BASE : _slot(high)].tolist()
        moment = clock_gettime_ns(CLOCK_REALTIME) if now is None else now
        made = []
        for index in range(high):
            at = index * _SLOT_WORDS
            name = alive.get((words[at + _PID], words[at + _START]))
            if name is not None:
                made.append(Client(words[at + _PID], name, _uses(words[at + _CELLS : at + _SLOT_WORDS], moment)))
        return made

    def facts(self, device: int) -> Facts:
        """Health, faults and chip of a device."""
        at = _device(device)
        with self._shared.lock:
            level, pace = self._words[at + _HEALTH], self._words[at + _PACE]
            double, isolated = self._words[at + _DOUBLE], self._words[at + _ISOLATED]
            soc, faults = self._text(at + _SOC, _SOC_BYTES), self._text(at + _FAULTS, _FAULT_BYTES)
        health = HEALTH[level] if 0 <= level < len(HEALTH) else "UNKNOWN"
        told = tuple(faults.split("\n")) if faults else ()
        return Facts(health, told, soc, double, isolated, pace / 1000 if pace > 0 else 1.0)

    def set_health(self, device: int, health: str, faults: tuple[str, ...] = ()) -> None:
        """What is wrong with a device, for all processes. ValueError: an unknown health, or faults over 895 bytes."""
        at = _device(device)
        if health not in HEALTH:
            raise ValueError(f"health {health!r}: one of {', '.join(HEALTH)}")
        with self._shared.lock:
            self._put(at + _FAULTS, _FAULT_BYTES, "\n".join(faults))
            self._words[at + _HEALTH] = HEALTH.index(health)

    def worsen(self, device: int, health: str, fault: str = "", double_bits: int = 0, isolated: int = 0) -> None:
        """A fault more ("CODE text", once each code) and at least that health; the memory error counts go up. A fault for which
        there is no room any more is left out."""
        at, known = _device(device), self.facts(device)
        with self._shared.lock:
            codes = [one.split(" ", 1)[0] for one in known.faults]
            text = "\n".join((*known.faults, fault))
            if fault and fault.split(" ", 1)[0] not in codes and len(text.encode()) < _FAULT_BYTES:
                self._put(at + _FAULTS, _FAULT_BYTES, text)
            self._words[at + _HEALTH] = max(self._words[at + _HEALTH], HEALTH.index(health))
            self._words[at + _DOUBLE] += double_bits
            self._words[at + _ISOLATED] += isolated

    def clear_errors(self, device: int) -> None:
        """Set the memory error counts to zero."""
        at = _device(device)
        with self._shared.lock:
            self._words[at + _DOUBLE] = self._words[at + _ISOLATED] = 0

    def set_pace(self, device: int, pace: float) -> None:
        """How many times as long kernels take on the device for the process that opens it, 1 for the usual."""
        at = _device(device)
        with self._shared.lock:
            self._words[at + _PACE] = round(pace * 1000)

    def set_soc(self, device: int, name: str) -> None:
        """Which chip the process that opens this device simulates."""
        at = _device(device)
        with self._shared.lock:
            self._put(at + _SOC, _SOC_BYTES, name)

    def _text(self, at: int, size: int) -> str:
        return self._shared.bytes[at * 8 : at * 8 + size].partition(b"\0")[0].decode("utf-8", "replace")

    def _put(self, at: int, size: int, text: str) -> None:
        data = text.encode()
        if len(data) >= size:
            raise ValueError(f"{len(data)} bytes of text where {size - 1} fit")
        self._shared.bytes[at * 8 : at * 8 + size] = data.ljust(size, b"\0")

    def _high(self) -> int:
        return min(max(self._words[_HIGH], 0), SLOTS)

    def _holds(self, index: int, pid: int, start: int) -> bool:
        at = _slot(index)
        return self._words[at + _PID] == pid and self._words[at + _START] == start

    def _check(self, slot: Slot) -> None:
        """The slot must be this process's and still claimed: not after fork, not after drop, not after the table was emptied."""
        if slot.process != os.getpid():
            raise DriverError("not_initialized", pid=os.getpid(), attached_by=slot.process)
        if not self._holds(slot.number, slot.pid, slot.start):
            raise DriverError("not_alive", slot=slot.number, pid=slot.pid)

    def _cell(self, slot: Slot, device: int) -> int:
        _device(device)
        return _slot(slot.number) + _CELLS + device * _CELL_WORDS

    def _find(self, pid: int, start: int) -> int | None:
        return next((index for index in range(self._high()) if self._holds(index, pid, start)), None)

    def _free(self) -> int:
        for _ in range(2):
            for index in range(SLOTS):
                if not self._words[_slot(index) + _PID]:
                    self._shared.bytes[_slot(index) * 8 : _slot(index + 1) * 8] = bytes(_SLOT_WORDS * 8)
                    return index
            self._sweep()
        raise DriverError("busy", clients=SLOTS)

    def _clear(self, index: int) -> None:
        """Empty one slot. The claim goes first, then the totals: killed in between they are too high, never too low."""
        at = _slot(index)
        self._words[at + _PID] = 0
        for device in range(DEVICES):
            held = self._words[at + _CELLS + device * _CELL_WORDS + _BYTES]
            if held:
                self._words[_device(device) + _TOTAL] -= held
        self._shared.bytes[at * 8 : (at + _SLOT_WORDS) * 8] = bytes(_SLOT_WORDS * 8)

    def _sweep(self, recount: bool = False) -> dict[tuple[int, int], str]:
        """Remove the dead; the names of the living by (pid, start). recount: also count the totals anew.

        /proc is read without the lock (10 us a client), and a slot is emptied only if it is still the dead one's.
        """
        alive: dict[tuple[int, int], str] = {}
        dead: list[tuple[int, int, int]] = []
        for index in range(self._high()):
            pid, start = self._words[_slot(index) + _PID], self._words[_slot(index) + _START]
            if not pid:
                continue
            process = look(pid)
            if process is None or process.start != start:
                dead.append((index, pid, start))
            else:
                alive[pid, start] = process.name
        if dead or recount:
            with self._shared.lock:
                for index, pid, start in dead:
                    if self._holds(index, pid, start):
                        self._words[_slot(index) + _PID] = 0
                self._recount()
        return alive

    def _recount(self) -> None:
        claimed = [index for index in range(self._high()) if self._words[_slot(index) + _PID]]
        for device in range(DEVICES):
            at = _CELLS + device * _CELL_WORDS + _BYTES
            self._words[_device(device) + _TOTAL] = sum(self._words[_slot(index) + at] for index in claimed)
        self._words[_HIGH] = claimed[-1] + 1 if claimed else 0


def _slot(index: int) -> int:
    return _SLOT_BASE + index * _SLOT_WORDS


def _device(device: int) -> int:
    if not 0 <= device < DEVICES:
        raise DriverError("invalid_device", device=device)
    return HEADER + device * _DEVICE_WORDS


def _uses(cells: list[int], now: int) -> dict[int, Use]:
    made = {}
    for device in range(DEVICES):
        held, huge, aic, aiv, aicpu, hbm, published = cells[device * _CELL_WORDS : device * _CELL_WORDS + 7]
        if abs(now - published) > SILENT_NS:  # abs: the wall clock may have been set back
            aic = aiv = aicpu = hbm = 0
        if held or aic or aiv or aicpu or hbm:
            made[device] = Use(held, huge, aic, aiv, aicpu, hbm, published)
    return made
