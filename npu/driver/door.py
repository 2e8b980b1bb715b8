"""The driver's door: what the runtime and the device tool may ask of the driver. Its smallest implementation is in `null`.

A Door opens devices; a Handle is one process's view of one open device. Numbers are device ids as the machine counts them
(visible-device renumbering is the runtime's).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # the door hands tasks through and does not look into them
    from npu.device.task import Task


@dataclass(frozen=True, slots=True)
class ProcessInfo:
    pid: int
    name: str  # at most 15 characters, as the process status file has it
    memory: int  # bytes held on this device


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """One device in one consistent snapshot. None = not known on this chip, which is not zero."""

    id: int
    soc: str
    health: str  # OK | Warning | Alarm | Critical | UNKNOWN
    bus_id: str
    power_w: float | None
    temp_c: int | None
    aicore: int  # busy share, percent
    aivector: int
    aicpu: int
    memory_used: int  # bytes, all processes and what the device itself holds
    memory_total: int
    huge_used: int  # pages of 2 MiB
    huge_total: int
    mhz: int
    faults: tuple[str, ...]
    processes: tuple[ProcessInfo, ...]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All devices at one moment."""

    driver_version: str
    firmware_version: str
    devices: tuple[DeviceInfo, ...]


class DriverError(Exception):
    """A driver refusal as a situation of npu.errors, with facts (numbers and names, not sentences)."""

    def __init__(self, situation: str, **facts: object) -> None:
        super().__init__(f"{situation} {facts}" if facts else situation)
        self.situation, self.facts = situation, facts


class Handle(Protocol):
    """One process's open device. Times are ns of the simulated timeline."""

    def submit(self, stream: int, task: Task, now: int) -> None:
        """Queue a task on a stream; it cannot start before now."""

    def advance(self, now: int) -> int:
        """Simulate up to now; the time of the next event after it, or -1 when nothing is left to happen."""

    def alloc(self, size: int, huge: bool) -> int:
        """Device address of new memory; DriverError no_memory when the capacity shared by all processes is exhausted."""

    def close(self) -> None:
        """Give everything back."""


class Door(Protocol):
    def open(self, device: int) -> Handle:
        """Open a device. DriverError: no_driver, no_device, busy, not_alive."""

    def query(self) -> Snapshot:
        """All devices and processes, dead clients removed. DriverError no_driver."""
