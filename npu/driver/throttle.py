"""The clock of a device in a warm room: it heats up while it works, and gives up clock where it gets too hot."""

from __future__ import annotations

from collections.abc import Callable
from math import exp

from npu.device.scheduler import Begin
from npu.device.task import KERNEL, Task
from npu.driver.fault_kinds import kinds
from npu.driver.injection import Struck
from npu.driver.state import Table
from npu.power import HEATING_C, LIMIT_C, SETTLE_NS, activity, spread_celsius
from npu.soc import Soc

LOOK_NS = 100_000_000  # the clock is set at most this often; unverified
STEP_MHZ = 100  # by so much
LOWEST = 0.5  # of the rated clock
COOL_C = 3  # so far below the limit the clock rises again


class Throttle:
    """Lengthens kernels as `Begin` of a scheduler. before: asked first (planned faults). A setting of the clock is told as a
    planned slow device is. Heat goes with the work of the cores and their clock, and with SETTLE_NS towards the room's."""

    def __init__(self, chip: Soc, device: int, ambient: float, table: Table, before: Begin | None) -> None:
        self._told: Callable[[Struck], None] | None = None
        self._chip, self._device, self._table, self._before = chip, device, table, before
        self._idle = spread_celsius(chip, device, ambient)
        self.mhz, self.celsius = chip.cube_mhz, self._idle
        self._then = self._looked = 0

    def opened(self, told: Callable[[Struck], None]) -> None:
        """Who hears of the clock; what it is at first is told at once."""
        self._told = told
        self._tell(-1)

    def begin(self, task: Task, now: int, limit: int) -> int:
        """The task starts now (ns): how long it takes at the clock of now. What waits for memory takes no longer."""
        duration = task.duration if self._before is None else self._before(task, now, limit)
        self.celsius = self._idle + (self.celsius - self._idle) * exp((self._then - now) / SETTLE_NS)
        self._then = now
        if now - self._looked >= LOOK_NS:
            self._looked = now
            self._set_clock(now)
        if task.kind != KERNEL:
            return duration
        chip, share = self._chip, self.mhz / self._chip.cube_mhz
        at_memory = min(task.hbm, 1.0)
        duration = round(duration * (at_memory + (1 - at_memory) / share))
        active = activity(1000 * task.aic // chip.aic, 1000 * task.aiv // max(1, chip.vector_cores), round(1000 * at_memory))
        self.celsius += HEATING_C * active * share * (1 - exp(-duration / SETTLE_NS))
        return duration

    def _set_clock(self, now: int) -> None:
        rated = self._chip.cube_mhz
        if self.celsius > LIMIT_C:
            wanted = max(round(rated * LOWEST), self.mhz - STEP_MHZ)
        elif self.celsius < LIMIT_C - COOL_C:
            wanted = min(rated, self.mhz + STEP_MHZ)
        else:
            return
        if wanted != self.mhz:
            self.mhz = wanted
            self._table.set_pace(self._device, rated / wanted)
            self._tell(now)

    def _tell(self, now: int) -> None:
        if self._told is not None:
            facts = {"device": self._device, "mhz": self.mhz, "rated": self._chip.cube_mhz, "celsius": round(self.celsius)}
            self._told(Struck(kinds()["slow"], self._device, now, facts))
