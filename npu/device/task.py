"""What a stream holds: tasks, programs (the sunk task list of a static model), and the events that order streams."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from npu.events import KINDS

KIND = {name: code for code, name in enumerate(KINDS)}
KERNEL, AICPU, COPY, MEMSET, RECORD, WAIT = (KIND[k] for k in ("kernel", "aicpu", "copy", "memset", "record", "wait"))


class Row(NamedTuple):
    """What a recorder shall know of a task besides its times: ids of texts and ordinals, -1 where there is none."""

    correlation: int = -1
    bytes: int = -1
    name: int = -1
    task_type: int = -1
    kernel: int = -1
    model: int = -1
    event: int = -1
    reads: int = -1
    writes: int = -1
    direction: int = -1
    host_kind: int = -1


class Step(NamedTuple):
    """One kernel of a program: nominal ns, cores it takes, its demand of HBM bandwidth (0..1), and what is recorded."""

    duration: int
    aic: int
    aiv: int
    hbm: float
    kind: int
    name: int
    task_type: int
    kernel: int


class Event:
    """Orders streams and measures device sections. Counts its records, so that a wait knows which one it waits for."""

    __slots__ = ("completed", "ordinal", "submitted", "time")

    def __init__(self, ordinal: int) -> None:
        self.ordinal = ordinal
        self.submitted = 0  # records queued so far
        self.completed = 0  # records that have happened
        self.time = -1  # ns of the last one

    def reset(self) -> None:
        """Forget the records: a wait queued after this waits for the next one."""
        self.submitted = self.completed = 0
        self.time = -1


class Task:
    """One entry of a stream. Mutable while it lives in the scheduler; one object per task or whole program.

    duration: nominal ns. engine: resource whose bandwidth it shares ("h2d", "d2h", "d2d", "" for none). aic, aiv: cores
    it holds while it runs. event and target: for waits, the record count to reach; for records, the event.
    on_done(time) moves its data; an NpuError from it becomes the stream's error.
    """

    __slots__ = (
        "aic",
        "aiv",
        "done_at",
        "duration",
        "end",
        "engine",
        "event",
        "hbm",
        "id",
        "kind",
        "left",
        "on_done",
        "program",
        "rate",
        "ready",
        "row",
        "since",
        "start",
        "step",
        "stream",
        "target",
    )

    def __init__(
        self,
        kind: int,
        duration: int,
        row: Row,
        *,
        engine: str = "",
        aic: int = 0,
        aiv: int = 0,
        hbm: float = 0.0,
        event: Event | None = None,
        target: int = 0,
        on_done: Callable[[int], None] | None = None,
        program: list[Step] | None = None,
    ) -> None:
        self.kind, self.duration, self.row = kind, duration, row
        self.engine, self.aic, self.aiv, self.hbm = engine, aic, aiv, hbm
        self.event, self.target, self.on_done = event, target, on_done
        self.program, self.step = program, 0
        self.ready = 0  # not before this time
        self.stream = self.id = -1
        self.start = -1
        self.end = -1  # expected while it runs
        self.left = 0.0  # nominal ns still to do, as of `since`
        self.rate = 1.0
        self.since = 0
        self.done_at = -1  # -1 until the whole task is done
