"""One operation of one rank on its way: what it leaves for the others, what it needs from them, when it ends, what it writes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import ceil

from npu.errors import NpuError
from npu.hccl.cost import Costed
from npu.hccl.select import NAMES
from npu.runtime.clock import real_ns
from npu.runtime.comm.board import Note
from npu.runtime.comm.communicator import Communicator
from npu.runtime.process import Process
from npu.runtime.side import Side
from npu.runtime.thread import HostThread

DOWN = "link down"  # fact of a note: the rank's links are down, so nothing follows it
Result = Callable[[Mapping[int, Note]], bytes | None]


@dataclass
class Part:
    """An exchange under one key: what the own rank leaves (read when it arrives), whose notes it needs, what it makes of them and
    where that goes. writes: (side, result) pairs; told: the others need what it leaves also where nothing is computed."""

    key: str
    ranks: tuple[int, ...]
    send: Callable[[], bytes]
    writes: tuple[tuple[Side, Result], ...] = ()
    facts: Mapping[str, object] = field(default_factory=dict)
    told: bool = False
    notes: dict[int, Note] = field(default_factory=dict)


class InFlight:
    """A task's gate, start and end. op: a name of npu.hccl.select.NAMES; cost: what it takes once all have come."""

    def __init__(self, process: Process, comm: Communicator, op: str, parts: list[Part], cost: Callable[[], Costed]) -> None:
        self.process, self.comm, self.op, self.parts, self.cost = process, comm, op, parts, cost
        self.device = comm.dev.device
        self.arrival = -1
        self.known = self.passed = False
        self.end = -1
        self.arrivals: dict[int, int] = {}  # by rank, on this process's timeline
        self.costed: Costed | None = None
        self.failure: NpuError | None = None
        self._came = 0  # real ns
        self.told: Callable[[InFlight, int], None] | None = None  # who records it, at its end

    @property
    def driver(self) -> HostThread | None:
        """The thread that drives this rank."""
        return self.comm.group.owners.get(self.comm.rank)

    def start(self, when: int) -> None:
        """This rank has come: what it sends is read now and left for the others."""
        self.arrival, self._came = when, real_ns()
        down = self.comm.dev.link_failure() if self.comm.size > 1 else None
        lines: dict[str, dict[str, Note]] = defaultdict(dict)
        for part in self.parts:
            part.facts = {"op": self.op, **part.facts, **({DOWN: True} if down is not None else {})}
            data = part.send() if down is None and (self.process.knobs.compute or part.told) else b""
            lines[_line(part)][part.key] = Note(when, part.facts, data)
        for line, notes in lines.items():
            self.comm.board.put(self.comm.rank, notes, line)
        if down is not None:
            self._fails(down.situation, when, **down.facts)
        if self.process.waiters:
            self.process.changed.notify_all()

    def awaited(self) -> str:
        """How it is named when a stream waits for it, with the ranks that have not come."""
        named = f"{NAMES[self.op][2]} of group {self.comm.name} as rank {self.comm.rank}"
        if self.arrival < 0:
            return f"{named}, which has not begun: other threads of the process have not come so far in time"
        self.look()
        members = self.comm.group.members
        missing = ", ".join(f"{rank} (process {members[rank].pid})" for rank in self._missing())
        return f"{named}; not come yet: rank {missing or '-'}"

    def gate(self) -> int:
        """When it ends, -1 while that is not known."""
        self.look()
        return self.end

    def finish(self, when: int) -> None:
        """Write what it made. Raises the failure it ended with."""
        if self.failure is None and self.process.knobs.compute:
            for part in self.parts:
                for side, result in part.writes:
                    data = result(part.notes)
                    if data:
                        side.write(data)
        if self.told is not None:
            self.told(self, when)
        for part in self.parts:
            part.notes.clear()
        if self.failure is not None:
            raise self.failure

    def look(self) -> bool:
        """Whether its end is known; sees whether the others have come, or never will."""
        if self.known or self.arrival < 0:
            return self.known
        gone = -1
        for part in self.parts:
            for rank in part.ranks:
                if rank not in part.notes:
                    note = self.comm.board.get(part.key, rank)
                    if note is not None and note.facts.get(DOWN):
                        gone = rank  # it came, and nothing of it gets through
                    elif note is not None:
                        part.notes[rank] = note
                    elif self._is_gone(rank):
                        gone = rank
        if all(len(p.notes) == len(p.ranks) for p in self.parts):
            self._resolve()
        elif gone >= 0 or self._is_late():
            self._give_up(gone if gone >= 0 else self._missing()[0])
        return self.known

    def _missing(self) -> list[int]:
        return sorted({rank for part in self.parts for rank in part.ranks if rank not in part.notes})

    def _is_gone(self, rank: int) -> bool:
        """Whether a rank can never come: its process or thread has ended, or it destroyed the communicator. A note that was left
        before is seen first."""
        group = self.comm.group
        if group.members[rank].pid == self.comm.group.members[self.comm.rank].pid:
            owner = group.owners.get(rank)
            return rank in group.left or (owner is not None and not owner.owner.is_alive())
        return not group.members[rank].alive and all(
            self.comm.board.get(p.key, rank) is None for p in self.parts if rank in p.ranks
        )

    def _is_late(self) -> bool:
        """Whether ranks of other processes have been waited for longer than the real patience."""
        if real_ns() - self._came < self.process.knobs.patience * 1e9:
            return False
        members = self.comm.group.members
        return any(members[rank].pid != members[self.comm.rank].pid for rank in self._missing())

    def hope(self, process: Process) -> tuple[bool, bool]:
        """See peers.Awaited.hope."""
        group, here = self.comm.group, process.registered()
        can = far = False
        for rank in self._missing():
            if group.members[rank].pid != group.members[self.comm.rank].pid:
                can = far = True
            else:
                owner = group.owners.get(rank)
                can |= owner is None or (owner is not here and owner.owner.is_alive() and not _stands(owner))
        return can, far

    def _resolve(self) -> None:
        members = self.comm.group.members
        zero = members[self.comm.rank].zero
        for part in self.parts:
            for rank, note in part.notes.items():
                self.arrivals[rank] = note.arrival + members[rank].zero - zero
            if self._differs(part):
                return
        latest = max(self.arrivals, key=lambda r: (self.arrivals[r], r))
        earliest = min(self.arrivals, key=lambda r: (self.arrivals[r], r))
        limit = self.comm.settings.execute
        if limit and self.arrivals[latest] - self.arrivals[earliest] > limit:  # who came first has left when the last one comes
            self._give_up(latest if self.arrivals[latest] - self.arrival > limit else earliest)
            return
        self.costed = self.cost()
        self._ends(self.arrivals[latest] + ceil(self.costed.duration))

    def _differs(self, part: Part) -> bool:
        """Whether a rank brought something else than this one, which ends the operation."""
        for rank, note in sorted(part.notes.items()):
            for name, remote in note.facts.items():
                local = part.facts.get(name)
                if local != remote:
                    self._fails("hccl_mismatch", max(self.arrivals.values()), remote_rank=rank, parameter=name, local=local,
                                remote=remote)  # fmt: skip
                    return True
        return False

    def _give_up(self, remote: int) -> None:
        """The wait for a rank times out, in simulated time."""
        self._fails("hccl_wait", self.arrival + (self.comm.settings.execute or 0), remote=remote)

    def _fails(self, situation: str, when: int, **facts: object) -> None:
        comm = self.comm
        choice = self.cost().choice
        self.failure = NpuError(
            situation, **facts, tag=f"{NAMES[self.op][2]}_{comm.name}", group=comm.name, size=comm.size, rank=comm.rank,
            algorithm=choice.in_log, seconds=comm.settings.execute // 10**9,
        )  # fmt: skip
        comm.failed = self.failure
        self._ends(when)

    def _ends(self, when: int) -> None:
        self.end, self.known = max(when, self.arrival), True
        if self.process.waiters:
            self.process.changed.notify_all()


def _line(part: Part) -> str:
    """Operations that the same ranks go through in order; messages between two may lie on another stream than what all do."""
    return f"{part.key.partition('.')[0].rstrip('0123456789')} {','.join(map(str, sorted(part.ranks)))}"


def _stands(thread: HostThread) -> bool:
    """Whether a thread waits for what has no time yet."""
    return thread.waiting and (thread.until is None or thread.until() < 0)
