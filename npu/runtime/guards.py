"""Bytes of page-locked memory that queued copies use: looked at when a copy is queued and when its turn has come, so that what
host code has changed meanwhile is seen."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from npu.device.task import Task
from npu.errors import NpuError
from npu.runtime.calling import calling
from npu.runtime.side import Side

if TYPE_CHECKING:
    from npu.runtime.process import Process

CHANGED = "changed"  # kind of a hazard: host code has changed a buffer in flight
Spans = Sequence[tuple[int, int]]  # (offset, bytes)
Access = tuple[Side, Spans]


class Call(NamedTuple):
    """An operation as it is told. stream: ordinal, -1 for the host's own accesses and synchronous copies."""

    name: str
    site: str
    stream: int


Tell = Callable[[str, Call, Call, tuple[object, ...], int, int], None]  # kind, first, second, block, offset, bytes


class Guard:
    """Bytes of page-locked memory that a queued copy uses, as they were last seen."""

    def __init__(self, side: Side, spans: Spans) -> None:
        self.side, self.spans = side, spans
        self.seen = self.look()

    def look(self) -> int:
        found = 0
        for offset, count in self.spans:
            found = zlib.crc32(self.side.read(count, offset), found)
        return found

    def overlaps(self, other: Guard) -> bool:
        mine, theirs = ((g.side.address + g.spans[0][0], g.side.address + sum(g.spans[-1])) for g in (self, other))
        return mine[0] < theirs[1] and theirs[0] < mine[1]


class Guards:
    """Those of a process. tell(...) is called for every change that was seen."""

    def __init__(self, process: Process, tell: Tell) -> None:
        self._process, self._tell = process, tell
        self._guards: dict[int, list[Guard]] = {}  # by the start of the page-locked block

    def host_wrote(self) -> None:
        """A call of the host has written, which is judged by its order: not a change by the script's own code."""
        for guards in self._guards.values():
            for guard in guards:
                guard.seen = guard.look()

    def watch(self, task: Task, call: Call, reads: Sequence[Access], writes: Sequence[Access]) -> None:
        """See at the end of a queued copy whether host code has changed its page-locked end meanwhile."""
        for accesses, written in ((reads, False), (writes, True)):
            for side, spans in accesses:
                found = self._process.pinned.find(side.address) if side.block is None else None
                if found is not None and not self._process.pinned.is_mapped(found[0]) and spans:
                    try:
                        guard = Guard(side, spans)
                    except NpuError:  # the script registered what it has given back
                        continue
                    self._guards.setdefault(found[0], []).append(guard)
                    task.on_done = self._arrival(task.on_done, guard, call, written, found[0])

    def _arrival(
        self, move: Callable[[int], None] | None, guard: Guard, call: Call, written: bool, start: int
    ) -> Callable[[int], None]:
        def arrive(when: int) -> None:
            beside = self._guards[start]
            beside.remove(guard)
            if guard.look() != guard.seen:
                at = guard.side.address - start + guard.spans[0][0]
                self._tell(CHANGED, call, Call("", calling().site, -1), ("host", start), at, sum(n for _, n in guard.spans))
            if move is not None:
                move(when)
            if written:
                for other in beside:
                    if other.overlaps(guard):
                        other.seen = other.look()
            if not beside:
                self._guards.pop(start, None)

        return arrive
