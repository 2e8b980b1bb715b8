"""An open device in this process: its scheduler, its memory, its place in the machine's device table."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from time import CLOCK_MONOTONIC, clock_gettime_ns  # not monotonic_ns: a script sees the simulated timeline through that
from typing import TYPE_CHECKING

from npu.device.memory import HUGE_PAGE, PAGE, Block, Memory
from npu.device.scheduler import Scheduler, Stream
from npu.device.task import Task
from npu.driver.door import DriverError
from npu.driver.machine import Machine
from npu.driver.state import Slot, Table
from npu.errors import NpuError

if TYPE_CHECKING:
    from npu.driver.fault_kinds import Kind
    from npu.driver.fault_plan import Planned
    from npu.driver.injection import Injection, Struck
    from npu.driver.throttle import Throttle

# aclrtMemAttr numbers (public header): kinds of memory; those of huge pages count whole huge pages only
HUGE_KINDS = frozenset((2, 4, 6, 8, 10, 11, 13, 14))
ALL_KINDS = range(18)
DROPPED = "40F84E00"  # event of a device that no longer answers; it cannot be opened until the event is cleared
PUBLISH_NS = 100_000_000  # at most this often the busy shares go to the table


class DeviceHandle:
    """Implements npu.driver.door.Handle. extra: what the runtime keeps per open device (its queues of synchronous copies)."""

    def __init__(
        self,
        machine: Machine,
        device: int,
        table: Table,
        slot: Slot,
        emit: Callable[..., None] | None,
        planned: Sequence[Planned] = (),
    ) -> None:
        self.device, self.machine = device, machine
        self.scheduler = Scheduler(machine.chip, device, emit)
        self.memory = Memory(device, machine.chip.memory)
        self.extra: dict[object, object] = {}
        self._held = 0  # huge pages held without an address
        self._table, self._slot = table, slot
        self._published = clock_gettime_ns(CLOCK_MONOTONIC)
        self._busy_then = dict(self.scheduler.busy_ns)
        self._now_then = 0
        self._injection: Injection | None = None
        self._lost: NpuError | None = None
        if planned:
            from npu.driver.injection import Injection

            self._injection = Injection(planned, device, table)
            self.scheduler.begin = self._injection.begin if self._injection.active else None
        self._throttle: Throttle | None = None
        if machine.ambient is not None:
            from npu.driver.throttle import Throttle

            self._throttle = Throttle(machine.chip, device, machine.ambient, table, self.scheduler.begin)
            self.scheduler.begin = self._throttle.begin

    def queued(self) -> list[tuple[int, Sequence[Task]]]:
        return [(stream.id, tuple(stream.queue)) for stream in self.scheduler.streams.values() if stream.queue]

    def on_fault(self, told: Callable[[Struck], None]) -> None:
        if self._throttle is not None:
            self._throttle.opened(told)
        if self._injection is not None:
            self._injection.told = told
            self._injection.opened(self.machine.chip.cube_mhz)

    def link_failure(self) -> NpuError | None:
        return None if self._injection is None else self._injection.link_failure()

    def lose(self, kind: Kind) -> None:
        if self._injection is not None and self._lost is None:
            self._lost = NpuError(kind.situation, device=self.device)
            for number in self.scheduler.streams:
                self.scheduler.fail(number, self._lost)
            self._injection.strike(kind)

    def add_stream(self, number: int, priority: int = 0) -> None:
        self.scheduler.add_stream(number, priority)
        if self._lost is not None:
            self.scheduler.fail(number, self._lost)

    def drop_stream(self, number: int) -> None:
        self.scheduler.drop_stream(number)

    def clear(self, number: int) -> None:
        self.scheduler.clear(number)

    def submit(self, number: int, task: Task, now: int) -> None:
        self.scheduler.submit(number, task, now)

    def stream(self, number: int) -> Stream:
        return self.scheduler.streams[number]

    def advance(self, now: int) -> None:
        self.scheduler.advance(now)
        if clock_gettime_ns(CLOCK_MONOTONIC) - self._published > PUBLISH_NS:
            self._publish()

    def next_event(self) -> int:
        return self.scheduler.next_event()

    def limit_kernels(self, ns: int) -> None:
        self.scheduler.kernel_limit = ns

    def tell(self, emit: Callable[..., None] | None) -> None:
        self.scheduler.emit = emit

    def _reserve(self, held: int, huge_pages: int) -> None:
        room = self.memory.capacity - self.machine.reserved
        if not self._table.reserve(self._slot, self.device, held, huge_pages, room):
            raise DriverError("no_memory", capacity=self.memory.capacity, wanted=held)

    def hold(self, size: int) -> None:
        pages = -(-size // HUGE_PAGE)
        self._reserve(pages * HUGE_PAGE, pages)
        self._held += pages

    def let_go(self, size: int) -> None:
        pages = -(-size // HUGE_PAGE)
        self._table.release(self._slot, self.device, pages * HUGE_PAGE, pages)
        self._held -= pages

    def window(self, size: int, align: int) -> int:
        return self.memory.window(size, align)

    def attach(self, address: int, size: int, host: int) -> Block:
        return self.memory.attach(address, size, host)

    def detach(self, address: int) -> bool:
        return self.memory.detach(address)

    def move(self, address: int, host: int) -> None:
        self.memory.move(address, host)

    def alloc(self, size: int, huge: bool) -> int:
        if self._lost is not None:
            raise DriverError(self._lost.situation, **self._lost.facts)
        page = HUGE_PAGE if huge else PAGE
        held = -(-size // page) * page
        self._reserve(held, held // HUGE_PAGE if huge else 0)
        block = self.memory.alloc(size, page)
        if block is None:
            self._table.release(self._slot, self.device, held, held // HUGE_PAGE if huge else 0)
            raise DriverError("no_memory", capacity=self.memory.capacity, wanted=held, largest_free=self.memory.largest_free)
        return block.address

    def free(self, address: int) -> bool:
        """Give memory back; False when no live block starts there."""
        block = self.memory.free(address)
        if block is None:
            return False
        self._table.release(self._slot, self.device, block.pages * block.page, block.pages if block.page == HUGE_PAGE else 0)
        return True

    def find(self, address: int) -> tuple[Block, int] | None:
        return self.memory.find(address)

    def place(self, address: int) -> int:
        return self.memory.host(address)

    @property
    def changes(self) -> int:
        return self.memory.changes

    def used(self) -> int:
        return self.memory.used + self._held * HUGE_PAGE

    def memory_info(self, attribute: int) -> tuple[int, int]:
        """(free, total) bytes of a memory kind (aclrtMemAttr): what the table's other clients hold is not free. Chips without
        HBM answer their DDR for the HBM kinds; an unknown kind is (0, 0)."""
        if attribute not in ALL_KINDS:
            return 0, 0
        total = self.memory.capacity - self.machine.reserved
        held = sum(c.uses[self.device].held for c in self._table.clients() if self.device in c.uses)
        free = total - held
        if attribute in HUGE_KINDS:
            free = free // HUGE_PAGE * HUGE_PAGE
        return max(0, free), total

    def close(self) -> None:
        for block in self.memory.live():
            self.free(block.address)
        self.let_go(self._held * HUGE_PAGE)
        self._table.publish(self._slot, self.device, 0, 0, 0, 0)

    def _publish(self) -> None:
        """Busy shares since the last time, per mille of the cores."""
        self._published = clock_gettime_ns(CLOCK_MONOTONIC)
        span = self.scheduler.now - self._now_then
        if span <= 0:
            return
        busy, then = self.scheduler.busy_ns, self._busy_then
        chip = self.machine.chip
        aic, aiv, aicpu = (
            min(1000, (busy[k] - then[k]) * 1000 // (span * max(1, n)))
            for k, n in (("aic", chip.aic), ("aiv", chip.vector_cores), ("aicpu", max(1, chip.aicpu)))
        )
        self._table.publish(self._slot, self.device, aic, aiv, aicpu, min(1000, (busy["hbm"] - then["hbm"]) * 1000 // span))
        self._busy_then, self._now_then = dict(busy), self.scheduler.now


_tables: dict[int, tuple[Table, Slot]] = {}  # by process id: a forked child attaches anew


def open_device(
    machine: Machine, device: int, emit: Callable[..., None] | None, planned: Sequence[Planned] = ()
) -> DeviceHandle:
    """Open a device of the machine for this process, with the faults planned for it. DriverError no_driver, invalid_device, busy,
    not_alive."""
    if machine.driver_version is None:
        raise DriverError("no_driver", device=device, reason="no driver is installed")
    if not machine.driver_fits:
        reason = f"driver {machine.driver_version} does not match CANN {machine.cann_version}"
        raise DriverError("no_driver", device=device, reason=reason)
    if not 0 <= device < machine.device_count:
        raise DriverError("invalid_device", device=device, count=machine.device_count)
    if any(p.kind.when == "open" and p.of(device) for p in planned):
        raise DriverError("busy", device=device)
    pid = os.getpid()
    if pid not in _tables:
        table = Table.open()
        _tables[pid] = (table, table.attach(pid))
    table, slot = _tables[pid]
    if any(fault.startswith(DROPPED) for fault in table.facts(device).faults):
        raise DriverError("not_alive", device=device)
    table.set_soc(device, machine.chip.name)
    table.set_pace(device, 1)
    return DeviceHandle(machine, device, table, slot, emit, planned)
