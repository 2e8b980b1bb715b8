"""How ranks find each other: every rank leaves who it is in a folder that the root information names, and waits for all.

The identifier is the folder: below NPU_JOB_DIR, which a launcher gives, else below the state folder of this user.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import socket
import struct
import threading
from pathlib import Path
from typing import NamedTuple

from npu.driver.alive import look
from npu.driver.shared import state_folder
from npu.errors import NpuError
from npu.runtime.clock import real_ns, real_sleep
from npu.runtime.comm.board import FolderBoard, Note
from npu.runtime.comm.peers import Peers
from npu.runtime.process import Process
from npu.runtime.thread import HostThread

ROOT_INFO_BYTES = 4108
MAGIC = b"NPUROOT1"
LENGTH = struct.Struct("<H")
JOB = "NPU_JOB_DIR"
KNOWN = "table-"  # how folders begin that a later run would find again
PORT = "HCCL_IF_BASE_PORT"
POLL, LONGEST = 0.002, 10  # s between looks for the others at first; at last ten times as long
TIMELINES = "model"  # clock under which all timelines begin alike


class Member(NamedTuple):
    """A rank as the others see it. start: with pid the identity of its process; zero: unix ns of its time zero, 0 under a clock
    on which all timelines begin alike; server: of the job; device: machine id; arrival: ns of its own timeline; unix: what its
    capture calls its time zero."""

    rank: int
    pid: int
    start: int
    zero: int
    server: int
    device: int
    arrival: int
    unix: int

    @property
    def alive(self) -> bool:
        found = look(self.pid)
        return found is not None and found.start == self.start


class Met(dict[str, dict[int, Member]]):
    """Ranks of this process by the folder they meet at."""


def job_folder() -> Path:
    """Where ranks of one job meet: as the launcher says, else a folder of the device table's."""
    named = os.environ.get(JOB, "")
    return Path(named) if named else Path(state_folder()) / "jobs"


def root_info() -> bytes:
    """A new identifier, in the size of HcclRootInfo: whoever has it meets the others. NpuError hccl_port where the environment
    names a port (HCCL_IF_BASE_PORT) that somebody else listens on."""
    named = os.environ.get(PORT, "")
    if named.isdigit():
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", int(named)))
            except (OSError, OverflowError) as error:
                raise NpuError("hccl_port", port=int(named), reason=str(error)) from error
    folder = job_folder() / f"comm-{os.getpid()}-{secrets.token_hex(6)}"
    text = str(folder).encode()
    return (MAGIC + LENGTH.pack(len(text)) + text).ljust(ROOT_INFO_BYTES, b"\0")


def folder_of(info: object) -> Path:
    """The folder a root information names. NpuError hccl_param for anything else."""
    data = bytes(info) if isinstance(info, (bytes, bytearray, memoryview)) else b""
    if len(data) != ROOT_INFO_BYTES or not data.startswith(MAGIC):
        raise NpuError("hccl_param", op="HcclCommInitRootInfo", parameter="rootInfo", value=f"{len(data)} bytes",
                       expected=f"the {ROOT_INFO_BYTES} bytes HcclGetRootInfo gave")  # fmt: skip
    (length,) = LENGTH.unpack_from(data, len(MAGIC))
    begin = len(MAGIC) + LENGTH.size
    return Path(data[begin : begin + length].decode())


def named_folder(text: str) -> Path:
    """The folder for those who know the same text: ranks of one rank table, of one sub-communicator."""
    return job_folder() / f"{KNOWN}{hashlib.sha256(text.encode()).hexdigest()[:24]}"


def server_number() -> int:
    """Which server of the job this process is on, as launchers say it."""
    for name in ("GROUP_RANK", "NODE_RANK", "OMPI_COMM_WORLD_NODE_RANK"):
        if os.environ.get(name, "").isdigit():
            return int(os.environ[name])
    return 0


def myself(process: Process, thread: HostThread, rank: int, device: int) -> Member:
    """What this rank tells the others of itself."""
    found = look(os.getpid())
    start = found.start if found is not None else 0
    zero = 0 if process.knobs.clock == TIMELINES else process.unix_zero
    return Member(rank, os.getpid(), start, zero, server_number(), device, thread.clock.now, process.unix_zero)


def meet(process: Process, thread: HostThread, folder: Path, me: Member, ranks: int, connect: int) -> list[Member]:
    """All ranks, in order; really waits for them, and moves the thread's clock to the last one's arrival.

    NpuError hccl_connect when they do not come within the real patience (simulated: the connect time-out); hccl_param when two
    ranks say the same number or sit on the same device.
    """
    board = FolderBoard(folder)
    other = _member(board, me.rank)
    if other is not None and other.alive and other.pid != me.pid:
        raise NpuError("hccl_param", op="HcclCommInit", parameter="rank", value=me.rank, expected="a rank nobody else has taken")
    board.put(me.rank, {"member": Note(me.arrival, dict(me._asdict()), b"")})
    here = process.one(Met).setdefault(str(folder), {})
    here[me.rank] = me
    process.changed.notify_all()
    missing = list(range(ranks))
    tries = 0
    found: dict[int, Member] = {}
    anew = os.environ.get(JOB, "") != "" or not folder.name.startswith(KNOWN)  # nothing of an earlier run can lie there
    begun = real_ns()
    thread.waiting, thread.until = True, lambda: thread.clock.now if len(here) == ranks else -1
    try:
        while True:
            for rank in list(missing):
                member = here.get(rank) or _member(board, rank)
                if member is not None and (anew or member.alive):
                    found[rank] = member
                    missing.remove(rank)
            if not missing:
                break
            if real_ns() - begun > process.knobs.patience * 1e9:
                thread.clock.now += connect
                raise NpuError("hccl_connect", rank=me.rank, ranks=ranks, missing=missing, seconds=connect // 10**9)
            if isinstance(process.peers, Peers):
                process.peers.ahead()  # who is missing may wait for what is queued here
            _nap(process, min(tries + 1, LONGEST) * POLL)
            tries += 1
    finally:
        thread.waiting, thread.until = False, None
    members = [found[rank] for rank in range(ranks)]
    places = {(m.server, m.device): m for m in members}
    if len(places) < ranks:
        twice = next(m for m in members if places[m.server, m.device] is not m)
        raise NpuError("hccl_same_device", rank=twice.rank, other=places[twice.server, twice.device].rank, device=twice.device)
    if process.knobs.clock == TIMELINES and process.unix_zero != members[0].unix:  # one timeline, so one date in all captures
        process.unix_zero = members[0].unix
        process.tell()
    thread.clock.now = max(m.arrival + m.zero for m in members) - me.zero if ranks > 1 else thread.clock.now
    return members


def _member(board: FolderBoard, rank: int) -> Member | None:
    note = board.get("member", rank)
    return None if note is None else Member(**note.facts)  # type: ignore[arg-type]


def _nap(process: Process, seconds: float) -> None:
    """Give the other threads of the process the lock, and the other processes time."""
    if len(threading.enumerate()) > 1:
        process.waiters += 1
        process.changed.wait(seconds)
        process.waiters -= 1
    else:
        real_sleep(seconds)
