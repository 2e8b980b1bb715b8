"""Data that ranks hand each other at the call of an operation, for callers that compute at the call: when the operation takes
place is simulated apart from it.

Whoever waits here for another rank's data stands still at its own present, and the other may itself stand in a wait for what is
queued here. So the waiting thread takes its devices on until that has left its arrival (Peers.ahead).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from npu.errors import NpuError
from npu.runtime.clock import real_ns
from npu.runtime.comm.board import Data, Note
from npu.runtime.comm.communicator import Communicator
from npu.runtime.comm.peers import Peers
from npu.runtime.process import Process

READ = "read"  # fact of a note: of so many operations in a row its rank has read what it needed


class Early:
    """The data of one communicator. An operation of all ranks is told by its number, one of two by source, destination and
    number."""

    def __init__(self, comm: Communicator) -> None:
        self.comm = comm
        self.sent = 0  # operations of all ranks so far
        self.pairs: dict[tuple[int, int], int] = {}
        self._mine: set[int] = set()  # of sent: those of which the others may still read something
        self._done: set[int] = set()
        self._read = 0  # operations in a row that were read here
        self._theirs = dict.fromkeys(range(comm.size), 0)  # the same of the other ranks, as they said last

    def give(self, facts: Mapping[str, object], data: Data) -> int:
        """Leave data of the next operation of all ranks; its number."""
        number = self.sent
        self.sent += 1
        self._mine.add(number)
        self._put(f"early{number}", {READ: self._read, **facts}, data)
        return number

    def take(self, process: Process, number: int, facts: Mapping[str, object], lost: Callable[[int], None]) -> dict[int, Note]:
        """The data of all ranks. NpuError hccl_mismatch where a rank called something else; lost: called with a rank that will
        not come, raises."""
        notes = self._wait(process, f"early{number}", range(self.comm.size), lost)
        for rank, note in notes.items():
            said = dict(note.facts)
            read = said.pop(READ)
            self._theirs[rank] = max(self._theirs[rank], read if isinstance(read, int) else 0)
            self._same(rank, facts, said)
        self._done.add(number)
        while self._read in self._done:
            self._done.remove(self._read)
            self._read += 1
        self._theirs[self.comm.rank] = self._read
        everybody = min(self._theirs.values())
        for old in [n for n in self._mine if n < everybody]:
            self._mine.remove(old)
            self.comm.board.drop(self.comm.rank, f"early{old}")
        return notes

    def pair(self, source: int, target: int) -> str:
        """The key of the next message from one rank to another."""
        number = self.pairs.get((source, target), 0)
        self.pairs[source, target] = number + 1
        return f"early.{source}.{target}.{number}"

    def send(self, key: str, facts: Mapping[str, object], data: Data) -> None:
        self._put(key, facts, data)

    def _put(self, key: str, facts: Mapping[str, object], data: Data) -> None:
        kept = bytes(data) if self.comm.group.local else data  # a folder's board writes it down
        self.comm.board.put(self.comm.rank, {key: Note(0, facts, kept)}, None)

    def receive(
        self, process: Process, key: str, source: int, facts: Mapping[str, object], lost: Callable[[int], None]
    ) -> bytes:
        """What a rank sent; whoever receives it clears it away."""
        note = self._wait(process, key, (source,), lost)[source]
        self._same(source, facts, note.facts)
        data = bytes(note.data)
        self.comm.board.drop(source, key)
        return data

    def _same(self, rank: int, facts: Mapping[str, object], said: Mapping[str, object]) -> None:
        for name, local in facts.items():
            if said.get(name) != local:
                comm = self.comm
                raise NpuError("hccl_mismatch", parameter=name, local=local, remote=said.get(name), remote_rank=rank,
                               tag=f"{facts.get('op', '')}_{comm.name}", group=comm.name, size=comm.size, rank=comm.rank,
                               algorithm="", seconds=0)  # fmt: skip

    def _wait(self, process: Process, key: str, ranks: Sequence[int], lost: Callable[[int], None]) -> dict[int, Note]:
        """Really wait until all these ranks have left something."""
        board, members, peers = self.comm.board, self.comm.group.members, process.peers
        assert isinstance(peers, Peers)  # made with the communicator
        found: dict[int, Note] = {}
        begun, tries = real_ns(), 0
        while True:
            for rank in ranks:
                if rank not in found and (note := board.get(key, rank)) is not None:
                    found[rank] = note
            missing = [r for r in ranks if r not in found]
            if not missing:
                return found
            gone = [r for r in missing if not members[r].alive and board.get(key, r) is None]
            if gone or real_ns() - begun > process.knobs.patience * 1e9:
                lost((gone or missing)[0])
            peers.ahead()
            peers.nap(tries)
            tries += 1
