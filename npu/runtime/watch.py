"""Hazards of a process while it runs (`msprof run --check-hazards`): what its calls mean in terms of npu.hazards.

Lanes are streams by ordinal; the threads of the host count as one, in the order of their calls: what they agree on among
themselves cannot be seen, so it is believed. Blocks are device allocations and page-locked host memory; other host memory is
staged when a copy is queued. What the script's own code does to a page-locked buffer is seen by the bytes: they are looked at
when a copy is queued and when its turn has come.
"""

from __future__ import annotations

import atexit
from collections.abc import Sequence
from typing import TYPE_CHECKING

from npu.device.memory import Block
from npu.device.task import KERNEL, Event, Task
from npu.hazards.detector import UNWRITTEN, Detector, Hazard
from npu.hazards.order import HOST, Op, Signal, Touch
from npu.runtime.calling import calling
from npu.runtime.guards import Access, Call, Guards
from npu.runtime.side import Side
from npu.runtime.signals import AWAITED, SET, Signals

if TYPE_CHECKING:
    from npu.runtime.process import Process
    from npu.runtime.stream import Stream

MOST = 200  # different hazards that are told; further ones are left out


class Watch:
    """What is noted of one process. Every method is called with the process's lock held."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._detector = Detector(self._clash)
        self._signals = Signals(process.recording.said)
        self._guards = Guards(process, self._tell)
        self._gates: dict[int, Signal] = {}  # of streams that wait for a callback, by identity of its event
        self._fresh: dict[tuple[object, ...], tuple[Call, Block]] = {}  # allocations nobody was seen to write
        self._made: dict[tuple[object, ...], Call] = {}
        self._expected: tuple[Sequence[Access], Sequence[Access]] | None = None
        self._ranges: dict[tuple[int, int, int], tuple[Touch, ...]] = {}
        self.found: dict[tuple[object, ...], dict[str, object]] = {}
        process.pinned.dropped = lambda start: self._detector.forget(("host", start))
        self.save()
        atexit.register(self.save)

    def save(self) -> None:
        """Leave what was found in the capture."""
        self._process.recording.sink.meta(hazards=list(self.found.values()))

    # -- memory ------------------------------------------------------------------------------------------------------

    def allocated(self, device: int, block: Block) -> None:
        key = ("device", device, block.ordinal)
        self._made[key] = call = Call(*calling(), -1)
        self._fresh[key] = call, block

    def freed(self, device: int, block: Block) -> None:
        key = ("device", device, block.ordinal)
        self._detector.forget(key)
        self._fresh.pop(key, None)
        self._made.pop(key, None)

    # -- operations --------------------------------------------------------------------------------------------------

    def expect(self, reads: Sequence[Access], writes: Sequence[Access]) -> None:
        """What the task that is submitted next reads and writes, where its row does not tell."""
        self._expected = reads, writes

    def submitted(self, stream: Stream, task: Task) -> None:
        """A task was queued."""
        expected, self._expected = self._expected, None
        queue = stream.handle == 0 and stream is not stream.context.default  # a thread's copies, or inside of a model
        call = Call(*calling(), -1 if queue else stream.ordinal)
        awaits, gives = self._signals.of(task)
        touches: Sequence[Touch] = ()
        if expected is not None:
            touches = self._touches(*expected)
        elif not (queue and task.kind == KERNEL):  # the task that ends a model's run on its stream tells of the whole model
            touches = self._of_row(stream, task)
        task.stamp = self._detector.submit(stream.ordinal, call, touches, awaits, gives)
        if expected is not None and not queue:
            self._guards.watch(task, call, *expected)

    def host_access(self, reads: Sequence[Access], writes: Sequence[Access]) -> None:
        """The host itself is about to read and write, in this call."""
        self._detector.submit(HOST, Call(*calling(), -1), self._touches(reads, writes))

    def host_wrote(self) -> None:
        """It has written."""
        self._guards.host_wrote()

    def _touches(self, reads: Sequence[Access], writes: Sequence[Access]) -> list[Touch]:
        return [
            Touch(block, at + offset, at + offset + count, written)
            for accesses, written in ((reads, False), (writes, True))
            for side, spans in accesses
            for block, at in self._block(side)
            for offset, count in spans
        ]

    def _block(self, side: Side) -> list[tuple[tuple[object, ...], int]]:
        """The block of one end of a copy and where in it that begins; nothing for host memory that is not page-locked."""
        if side.block is not None and side.dev is not None:
            return [(("device", side.dev.device, side.block.ordinal), side.offset)]
        found = self._process.pinned.find(side.address)
        return [] if found is None else [(("host", found[0]), side.address - found[0])]

    def _of_row(self, stream: Stream, task: Task) -> tuple[Touch, ...]:
        """From "allocation+offset:bytes;..." of the task's row."""
        said = self._process.recording.said
        row, device = task.row, stream.dev.device
        if (row.reads < 0 and row.writes < 0) or said(row.task_type) in (SET, AWAITED):
            return ()
        key = device, row.reads, row.writes
        found = self._ranges.get(key)
        if found is None:
            found = self._ranges[key] = tuple(
                Touch(("device", device, int(ordinal)), int(offset), int(offset) + int(count), written)
                for text, written in ((row.reads, False), (row.writes, True))
                for part in said(text).split(";")
                if part
                for ordinal, _, rest in (part.partition("+"),)
                for offset, _, count in (rest.partition(":"),)
            )
        return found

    # -- order -------------------------------------------------------------------------------------------------------

    def reset(self, event: Event) -> None:
        """An event forgets its records."""
        self._signals.reset(event)

    def gated(self, stream: Stream, event: Event) -> None:
        """What comes next on a stream waits for the end of a host function, which the event will tell."""
        signal = self._gates[id(event)] = Signal()
        self._detector.submit(stream.ordinal, Call("", "", stream.ordinal), awaits=(signal,))

    def ended(self, event: Event) -> None:
        """That function has ended."""
        signal = self._gates.pop(id(event), None)
        if signal is not None:
            self._detector.give(signal)

    def joined(self, *tasks: Task | None) -> None:
        """The host knows that tasks are over."""
        for task in tasks:
            if task is not None and isinstance(task.stamp, Op):
                self._detector.host_after(task.stamp)

    def happened(self, event: Event) -> None:
        """The host knows that the last record of an event is over."""
        if event.completed == event.submitted:
            self.joined(self._signals.last(event))

    # -- what is told --------------------------------------------------------------------------------------------------

    def _clash(self, hazard: Hazard) -> None:
        second = hazard.second.what
        assert isinstance(second, Call)
        if hazard.first is None:
            fresh = self._fresh.get(hazard.block)
            if fresh is not None and not fresh[1].written:
                self._tell(UNWRITTEN, fresh[0], second, hazard.block, hazard.start, hazard.end - hazard.start)
            return
        first = hazard.first.what
        assert isinstance(first, Call)
        self._tell(hazard.kind, first, second, hazard.block, hazard.start, hazard.end - hazard.start)

    def _tell(self, kind: str, first: Call, second: Call, block: tuple[object, ...], offset: int, count: int) -> None:
        key = kind, first, second
        known = self.found.get(key)
        if known is not None:
            known["count"] = int(str(known["count"])) + 1
            return
        if len(self.found) >= MOST:
            return
        made = self._made.get(block)
        self.found[key] = {
            "kind": kind,
            "first": first._asdict(),
            "second": second._asdict(),
            "memory": str(block[0]),
            "device": block[1] if block[0] == "device" else -1,
            "allocated": made.site if made is not None else "",
            "offset": offset,
            "bytes": count,
            "count": 1,
        }
        self.save()


