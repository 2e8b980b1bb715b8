"""What a stream holds: tasks, programs (the sunk task list of a static model), and the events that order streams."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from npu.errors import NpuError
from npu.events import KINDS

KIND = {name: code for code, name in enumerate(KINDS)}
KERNEL, AICPU, COPY, MEMSET, RECORD, WAIT, DVPP, CALLBACK, NOTIFY_RECORD, NOTIFY_WAIT, OTHER = range(len(KINDS))


class Row(NamedTuple):
    """What a recorder shall know of a task besides its times: ids of texts and ordinals, -1 where there is none. The same for
    all tasks of one kind, so that it is made once; what ties a task to its call is in the task."""

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


PLAIN = Row()  # of a task nobody records


class Step(NamedTuple):
    """One kernel of a program: nominal ns, cores it takes, its demand of HBM bandwidth (0..1), and what is recorded. called: its
    name, which is known also when nobody records."""

    duration: int
    aic: int
    aiv: int
    hbm: float
    kind: int
    name: int
    task_type: int
    kernel: int
    called: str = ""


class Event:
    """Orders streams and measures device sections. Counts its records, so that a wait knows which one it waits for."""

    __slots__ = ("completed", "ordinal", "rows", "submitted", "time")

    def __init__(self, ordinal: int) -> None:
        self.ordinal = ordinal
        self.rows: dict[str, Row] = {}  # what is recorded of its tasks, by type
        self.submitted = 0  # records queued so far
        self.completed = 0  # records that have happened
        self.time = -1  # ns of the last one

    def reset(self) -> None:
        """Forget the records: a wait queued after this waits for the next one."""
        self.submitted = self.completed = 0
        self.time = -1


class Task:
    """One entry of a stream. Mutable while it lives in the scheduler; one object per task or whole program.

    duration: nominal ns. engine: resource whose bandwidth it shares (a key of the scheduler's demand, "" for none). aic, aiv:
    cores it holds while it runs. event and target: for waits, the record count to reach; for records, the event.
    gate() holds the task back at the head of its stream until it answers a time (when it opened, ns) instead of -1; limit is
    how long the head waits for gate or event at most, 0 for ever. on_start(time) is called once, when it has become the head.
    on_done(time) moves its data; an NpuError from it becomes the stream's error. times: where start and end of each step of a
    program are noted, None when nobody asks.

    What most tasks leave alone are class attributes: one object per asynchronous call has to be cheap.
    """

    correlation: int = -1  # id of the call that launched it
    engine: str = ""
    aic: int = 0
    aiv: int = 0
    hbm: float = 0.0
    event: Event | None = None
    target: int = 0
    gate: Callable[[], int] | None = None
    limit: int = 0
    on_start: Callable[[int], None] | None = None
    on_done: Callable[[int], None] | None = None
    program: list[Step] | None = None
    times: list[tuple[int, int]] | None = None
    step: int = 0
    priority: int = 0  # of its stream; lower goes first
    ready: int = 0  # not before this time
    stream: int = -1
    id: int = -1
    start: int = -1
    end: int = -1  # expected while it runs
    left: float = 0.0  # nominal ns still to do, as of `since`
    rate: float = 1.0
    since: int = 0
    done_at: int = -1  # -1 until the whole task is done
    failure: NpuError | None = None
    stamp: object = None  # what somebody who hears of submissions has noted on it

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
        self.kind = kind
        self.duration = duration
        self.row = row
        if engine:
            self.engine = engine
        if aic or aiv:
            self.aic, self.aiv = aic, aiv
        if hbm:
            self.hbm = hbm
        if event is not None:
            self.event, self.target = event, target
        if on_done is not None:
            self.on_done = on_done
        if program is not None:
            self.program = program
