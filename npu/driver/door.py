"""The driver's door: what the runtime and the device tool may ask of the driver. Its smallest implementation is in `null`.

`npu.driver.handle.open_device` gives a Handle, one process's view of one open device; `npu.driver.query.snapshot` gives a
Snapshot of all. Numbers are device ids as the machine counts them (visible-device renumbering is the runtime's).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # the door hands these through and does not look into them
    from npu.device.memory import Block
    from npu.device.scheduler import Stream
    from npu.device.task import Task
    from npu.driver.fault_kinds import Kind
    from npu.driver.injection import Struck
    from npu.errors import NpuError


@dataclass(frozen=True, slots=True)
class ProcessInfo:
    """One process on one device."""

    pid: int
    name: str  # at most 15 characters, as the process status file has it
    memory: int  # bytes held on this device
    container_pid: int | None = None  # its number in its container's own count, None outside containers


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
    # What only some forms of the device tool show. card, chip: its place where it does not follow from the id.
    card: int | None = None
    chip: int | None = None
    ctrl_cpu: int | None = None  # busy share of the control CPU, percent
    memory_busy: int | None = None  # share of the memory bandwidth, percent
    ddr_used: int | None = None  # bytes of the second pool of 910A: DDR beside HBM
    ddr_total: int | None = None
    current_mhz: int | None = None  # now, where it differs from the rated clock `mhz`
    double_bits: int = 0  # memory errors that could not be corrected
    isolated: int = 0  # pages of memory taken out of use


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


class Streams(Protocol):
    """Streams of an open device."""

    def add_stream(self, number: int, priority: int = 0) -> None:
        """Make a stream of that number; lower priorities go first."""

    def drop_stream(self, number: int) -> None:
        """End a stream; what is still queued on it is forgotten."""

    def clear(self, number: int) -> None:
        """Forget what a stream runs and holds; whoever waits for that goes on now."""

    def stream(self, number: int) -> Stream:
        """The state of a stream: idle, and the first failure not yet reported."""


class Queues(Protocol):
    """What streams of an open device hold. Times are ns of the simulated timeline."""

    def submit(self, number: int, task: Task, now: int) -> None:
        """Queue a task; it cannot start before now."""

    def queued(self) -> list[tuple[int, Sequence[Task]]]:
        """(stream, what it runs and holds, the head first) of every stream that is not idle."""

    def limit_kernels(self, ns: int) -> None:
        """The longest a kernel may run before it counts as hung, 0 for ever."""

    def tell(self, emit: Callable[..., None] | None) -> None:
        """Where the row of each ended task goes from now on (npu.events "task" order); None: nowhere."""


class Time(Protocol):
    """Simulated time of an open device, ns."""

    def advance(self, now: int) -> None:
        """Simulate up to now; what is submitted later cannot change what has happened until then."""

    def next_event(self) -> int:
        """Time of the next event, or -1 when nothing can happen without a new submission."""


class Store(Protocol):
    """Memory of an open device. Sizes in bytes."""

    def alloc(self, size: int, huge: bool) -> int:
        """Device address of new memory; DriverError no_memory when the capacity shared by all processes is exhausted."""

    def free(self, address: int) -> bool:
        """Give memory back; False when no live block starts there."""

    def find(self, address: int) -> tuple[Block, int] | None:
        """The live block an address lies in and the offset within it."""

    def place(self, address: int) -> int:
        """The process address where the bytes of a device address really are."""


class Figures(Protocol):
    """What is known of the memory of an open device as a whole."""

    @property
    def changes(self) -> int:
        """How often the set of live blocks has changed: what was looked up before still holds while this stays."""

    def memory_info(self, attribute: int) -> tuple[int, int]:
        """(free, total) bytes of a memory kind (aclrtMemAttr number); (0, 0) for an unknown one."""

    def used(self) -> int:
        """Bytes this process holds, in whole pages."""


class Reserves(Protocol):
    """Memory without an address, and addresses without memory."""

    def hold(self, size: int) -> None:
        """Take memory of the device without an address, in huge pages; DriverError no_memory."""

    def let_go(self, size: int) -> None:
        """Give held memory back."""

    def window(self, size: int, align: int) -> int:
        """Device addresses that are no memory yet."""


class Elsewhere(Protocol):
    """Memory of an open device whose bytes lie elsewhere: mapped physical memory, what processes share."""

    def attach(self, address: int, size: int, host: int) -> Block:
        """Make such addresses memory, with its bytes at a process address."""

    def detach(self, address: int) -> bool:
        """Take that back; False when nothing is attached there."""

    def move(self, address: int, host: int) -> None:
        """The bytes of the block at an address lie at that process address from now on."""


class Trouble(Protocol):
    """What can go wrong with an open device, above all by plan (npu.driver.fault_plan)."""

    def on_fault(self, told: Callable[[Struck], None]) -> None:
        """Who hears of planned faults that happen; those that are there from the start are told at once."""

    def link_failure(self) -> NpuError | None:
        """What ends a transfer over the links of the device, None while they are up."""

    def lose(self, kind: Kind) -> None:
        """The device answers no more: what its streams hold fails, now and later."""


class Handle(Streams, Queues, Time, Store, Figures, Reserves, Elsewhere, Trouble, Protocol):
    """One process's open device; `extra` is the runtime's own notebook for it."""

    device: int
    extra: dict[object, object]

    def close(self) -> None:
        """Give everything back."""
