"""What tasks await and give, in terms of npu.hazards: events, notifies, and values in memory that order streams."""

from __future__ import annotations

from collections.abc import Callable

from npu.device.task import NOTIFY_RECORD, NOTIFY_WAIT, RECORD, WAIT, Event, Task
from npu.hazards.order import Signal
from npu.runtime.notify import Notify

SET, AWAITED = "WRITE_VALUE", "WAIT_VALUE"  # tasks that order streams by a value in memory


class _Flag:
    """A notify, or a value in memory: signals of what set it since it was taken, and of what has to set it."""

    def __init__(self) -> None:
        self.sets: list[Signal] = []
        self.coming: list[Signal] = []

    def set(self) -> Signal:
        signal = self.coming.pop(0) if self.coming else Signal()
        self.sets.append(signal)
        return signal

    def awaited(self, take: bool) -> tuple[Signal, ...]:
        """What a wait waits for: all that set it, else what will."""
        if not self.sets:
            self.coming.append(Signal())
            return (self.coming[-1],)
        found = tuple(self.sets)
        self.sets = [] if take else self.sets[-1:]
        return found


class Signals:
    """Those of a process. said: the text of an id in rows."""

    def __init__(self, said: Callable[[int], str]) -> None:
        self._said = said
        self._events: dict[int, tuple[int, Signal, Task]] = {}  # by ordinal: the last record, its number and signal
        self._coming: dict[int, Signal] = {}  # of events that are awaited before their first record
        self._flags: dict[object, _Flag] = {}

    def of(self, task: Task) -> tuple[tuple[Signal, ...], Signal | None]:
        """What a task awaits and what it gives."""
        if task.kind == RECORD and task.event is not None:
            ordinal = task.event.ordinal
            gives = self._coming.pop(ordinal, None) or Signal()
            self._events[ordinal] = task.event.submitted, gives, task
            return (), gives
        if task.kind == WAIT and task.event is not None:
            return self._record_of(task.event, task.target), None
        if task.kind == NOTIFY_RECORD:
            return (), self._flag(task.on_done).set()
        if task.kind == NOTIFY_WAIT:
            notify = getattr(task.gate, "__self__", None)
            if isinstance(notify, Notify) and notify.key:  # whoever set it is outside of this process
                return (), None
            return self._flag(task.gate).awaited(take=True), None
        kind = self._said(task.row.task_type)
        if kind in (SET, AWAITED):
            flag = self._flags.setdefault(self._said(max(task.row.reads, task.row.writes)), _Flag())
            return ((), flag.set()) if kind == SET else (flag.awaited(take=False), None)
        return (), None

    def _flag(self, bound: Callable[..., object] | None) -> _Flag:
        """Of the notify whose method a task calls."""
        return self._flags.setdefault(getattr(bound, "__self__", None), _Flag())

    def _record_of(self, event: Event, target: int) -> tuple[Signal, ...]:
        """The signal of an event's record; none when there is nothing to wait for."""
        if target <= 0:
            return ()
        last = self._events.get(event.ordinal)
        if last is not None and target <= last[0]:
            return (last[1],)
        return (self._coming.setdefault(event.ordinal, Signal()),)

    def reset(self, event: Event) -> None:
        """An event forgets its records."""
        self._events.pop(event.ordinal, None)

    def last(self, event: Event) -> Task | None:
        """The last record of an event."""
        found = self._events.get(event.ordinal)
        return None if found is None else found[2]
