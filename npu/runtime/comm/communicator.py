"""A communicator: one rank's view of a group of ranks, known by a handle."""

from __future__ import annotations

import atexit
import hashlib
import shutil
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

from npu.driver.door import DriverError
from npu.errors import NpuError
from npu.hccl.topology import Topology
from npu.runtime.comm.board import Board, FolderBoard, LocalBoard
from npu.runtime.comm.meeting import Member
from npu.runtime.comm.peers import Peers
from npu.runtime.comm.settings import Settings
from npu.runtime.context import Context
from npu.runtime.process import Process
from npu.runtime.thread import HostThread


class Group:
    """What the ranks of this process share about a group. results: of operations, made once for all ranks here."""

    def __init__(self, folder: Path, members: list[Member], topology: Topology) -> None:
        self.members, self.topology = members, topology
        self.local = len({m.pid for m in members}) == 1
        self.folder = folder
        self.shared = LocalBoard()
        self.owners: dict[int, HostThread] = {}  # who drives a rank of this process
        self.left: set[int] = set()  # ranks that destroyed their communicator
        self._results: dict[str, object] = {}

    def board(self) -> Board:
        if self.local:
            return self.shared
        tag = hashlib.sha256(str(sorted((m.pid, m.start) for m in self.members)).encode()).hexdigest()[:12]
        return FolderBoard(self.folder / tag)  # a folder of this run: what an earlier one left is not read

    def result(self, key: str, make: Callable[[], bytes]) -> bytes:
        """What make() gives, made once for a key while it is the latest."""
        if key not in self._results:
            self._results = {key: make()}
        found = self._results[key]
        return found if isinstance(found, bytes) else make()


class Groups(dict[str, Group]):
    """The groups of a process by what its ranks met with."""


class World:
    """The largest communicator of a process, and the ranks of this process in it. groups: what the profile says of each one."""

    def __init__(self) -> None:
        self.size = 0
        self.ranks: list[int] = []
        self.folder = Path()
        self.groups: dict[str, dict[str, object]] = {}


class Communicator:
    """rank of size; name: of the group, as profiles show it; world: its ranks as the outermost group counts them. failed: the
    situation of its first failed operation."""

    def __init__(self, process: Process, thread: HostThread, context: Context, group: Group, rank: int, name: str,
                 config: Settings, world: Sequence[int] = ()) -> None:  # fmt: skip
        self.rank, self.name, self.group, self.settings = rank, name, group, config
        self.size = len(group.members)
        self.world = tuple(world) or tuple(range(self.size))
        self.context, self.dev = context, context.dev
        self.board = group.board()
        self.suspended = False
        self.failed: NpuError | None = None
        self.sequence = 0
        self.pairs: dict[tuple[int, int], int] = defaultdict(int)  # sends so far by (source, destination)
        self.identifier = int(hashlib.sha256(name.encode()).hexdigest()[:8], 16) % 1000
        self.held = 2 * config.buffer if self.size > 1 else 0
        try:
            self.dev.hold(self.held)
        except DriverError as error:
            raise NpuError("hccl_memory", bytes=self.held, **error.facts) from error
        group.owners[rank] = thread
        self.handle = process.register(self)
        if process.peers is None:
            process.peers = Peers(process)
        process.peers.drives(thread, self.dev.device)
        atexit.register(self._leave)

    def _leave(self) -> None:
        """Say that this rank reads nothing more; the last one clears the folder away."""
        if self.board.leave(self.rank, self.size):
            shutil.rmtree(self.group.folder, ignore_errors=True)

    def number(self) -> int:
        """Of the next operation all ranks take part in."""
        self.sequence += 1
        return self.sequence - 1

    def close(self, process: Process) -> None:
        atexit.unregister(self._leave)
        self._leave()
        self.group.left.add(self.rank)
        self.dev.let_go(self.held)
        process.objects.pop(self.handle, None)


def of(process: Process, thread: HostThread, handle: int) -> Communicator:
    """The communicator of a handle, driven by this thread from now on. NpuError hccl_pointer."""
    found = process.objects.get(handle)
    if not isinstance(found, Communicator):
        raise NpuError("hccl_pointer", parameter="comm", value=handle)
    found.group.owners[found.rank] = thread
    if process.peers is not None:
        process.peers.drives(thread, found.dev.device)
    thread.device = found.context.device
    return found
