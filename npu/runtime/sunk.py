"""The sunk task list of a model on several streams: stretches of kernels on each, ordered by events, joined on the caller's."""

from __future__ import annotations

from collections.abc import Sequence

from npu import om
from npu.device.task import KERNEL, PLAIN, RECORD, WAIT, Event, Row, Step, Task
from npu.runtime.event import RECORD_NS
from npu.runtime.process import Process
from npu.runtime.stream import Stream
from npu.runtime.thread import HostThread

BEGIN, END = -1, -2  # keys of the events at the start and the end of a run


class Lanes:
    """The inner streams of a loaded model. Kernels of its stream 0 run on the caller's stream, the others on their own."""

    def __init__(self, process: Process, like: Stream, model: om.Model) -> None:
        self.model = model
        count = max((k.stream for k in model.kernels), default=0)
        self._records = {maker for maker, _ in model.events}
        self._waits: dict[int, list[int]] = {}
        for maker, reader in model.events:
            self._waits.setdefault(reader, []).append(maker)
        self._events: dict[int, Event] = {}  # by the kernel that records it, BEGIN, or END less the stream's number
        self._first = process.ordinal("event")
        for _ in range(len(self._records) + count):
            process.ordinal("event")
        self.inner = [Stream(process, like.context, internal=True, priority=like.priority) for _ in range(count)]

    def submit(self, process: Process, thread: HostThread, where: Stream, program: Sequence[Step], row: Row) -> list[Step]:
        """Queue all but the caller's last stretch, which is given back: it belongs to the task that ends the run."""
        lanes = [where, *self.inner]
        pending: list[list[Step]] = [[] for _ in lanes]

        def send(lane: int, task: Task) -> None:
            task.correlation = thread.correlation
            lanes[lane].submit(process, thread, task)

        def flush(lane: int) -> None:
            if pending[lane]:
                send(lane, Task(KERNEL, 0, row, program=pending[lane]))
                pending[lane] = []

        def record(lane: int, key: int) -> None:
            flush(lane)
            event = self._events.setdefault(key, Event(len(self._events) + self._first))
            send(lane, Task(RECORD, RECORD_NS, self._row(process, "EVENT_RECORD", event), event=event))

        def wait(lane: int, key: int) -> None:
            flush(lane)
            event = self._events[key]
            send(lane, Task(WAIT, 0, self._row(process, "EVENT_WAIT", event), event=event, target=event.submitted))

        record(0, BEGIN)
        for lane in range(1, len(lanes)):
            wait(lane, BEGIN)
        for at, (step, kernel) in enumerate(zip(program, self.model.kernels, strict=True)):
            for maker in self._waits.get(at, ()):
                wait(kernel.stream, maker)
            pending[kernel.stream].append(step)
            if at in self._records:
                record(kernel.stream, at)
        for lane in range(1, len(lanes)):
            record(lane, END - lane)
            wait(0, END - lane)
        return pending[0]

    def _row(self, process: Process, kind: str, event: Event) -> Row:
        """What is recorded of an event's task; the event keeps it."""
        if not process.recording.on:
            return PLAIN
        return event.rows.get(kind) or event.rows.setdefault(kind, process.recording.row(kind, event.ordinal))

    def close(self, process: Process) -> None:
        for stream in self.inner:
            stream.close(process)
