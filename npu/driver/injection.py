"""Planned faults of one open device: asked by its scheduler before each task, it lengthens the task or makes it fail, and leaves
in the device table what the device tool shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from npu.device.task import AICPU, COPY, KERNEL, Task
from npu.driver.fault_kinds import Kind
from npu.driver.fault_plan import Planned
from npu.driver.state import Table
from npu.errors import NpuError

ENGINES = {KERNEL: "kernel", AICPU: "aicpu"}  # other tasks go by the copy engine they use


@dataclass(frozen=True, slots=True)
class Struck:
    """A fault that has happened. when: ns of the timeline, -1 now; facts: device, stream, task, kernel: what its lines tell."""

    kind: Kind
    device: int
    when: int
    facts: Mapping[str, object]


class Injection:
    """The faults of one device. told: hears of each that happens (the runtime writes its log lines)."""

    def __init__(self, planned: Iterable[Planned], device: int, table: Table) -> None:
        mine = [p for p in planned if p.of(device)]
        self.device, self._table = device, table
        self.told: Callable[[Struck], None] | None = None
        self._strikes = [p for p in mine if p.kind.when == "kernel"]
        self._links = [p for p in mine if p.kind.when == "link"]
        self._factors: dict[str, float] = {}
        self._rates = [p for p in mine if p.kind.when == "rate"]
        for one in self._rates:
            for engine in one.kind.engines:
                self._factors[engine] = self._factors.get(engine, 1.0) * one.factor
        self._seen: dict[int, int] = {}  # kernels so far, by the place of the fault that counts them

    @property
    def active(self) -> bool:
        """Whether the scheduler need ask at all."""
        return bool(self._strikes or self._factors or self._links)

    @property
    def pace(self) -> float:
        """How many times as long kernels take."""
        return self._factors.get("kernel", 1.0)

    def opened(self, rated_mhz: int) -> None:
        """The device was opened: what is true from the start is told and shown."""
        self._table.set_pace(self.device, self.pace)
        for one in self._rates:
            self._tell(one.kind, mhz=round(rated_mhz / one.factor), rated=rated_mhz)
        for one in self._links:
            self.strike(one.kind)

    def begin(self, task: Task, now: int, limit: int) -> int:
        """The task starts now (ns): how long it takes. A task that is to fail gets its failure. limit: ns after which the device
        stops a kernel, 0 for never."""
        engine = ENGINES.get(task.kind) or task.engine
        duration = task.duration
        factor = self._factors.get(engine)
        if factor is not None:
            duration = round(duration * factor)
        if self._links and engine == "link" and task.kind == COPY:
            task.failure = self.link_failure()
        for number, one in enumerate(self._strikes):
            if engine not in one.kind.engines:
                continue
            seen = self._seen[number] = self._seen.get(number, 0) + 1
            if seen == one.at:
                if one.kind.hangs:
                    duration = limit or max(duration, round(one.seconds * 1e9))
                self._strike_task(one, task, now + duration, duration)
        return duration

    def _strike_task(self, one: Planned, task: Task, when: int, duration: int) -> None:
        name = task.program[task.step].called if task.program is not None else ""
        where = {"stream": task.stream, "task": task.id, "kernel": name or "unknown", "us": when // 1000}
        limit = {"limit_us": duration // 1000} if one.kind.hangs else {}
        task.failure = NpuError(one.kind.situation, device=self.device, model=where["kernel"], **where, **limit, **one.kind.facts)
        self.strike(one.kind, when, **where)

    def link_failure(self) -> NpuError | None:
        """What ends a transfer over the links of the device, None while they are up."""
        return NpuError(self._links[0].kind.situation, device=self.device) if self._links else None

    def strike(self, kind: Kind, when: int = -1, **facts: object) -> None:
        """A fault happens: it is shown and told."""
        if kind.health:
            self._table.worsen(self.device, kind.health, kind.event, kind.double_bits, kind.isolated)
        self._tell(kind, when, **facts)

    def _tell(self, kind: Kind, when: int = -1, **facts: object) -> None:
        if self.told is not None:
            self.told(Struck(kind, self.device, when, {"device": self.device, **facts}))
