"""What every operation begins with: who calls, on which communicator and stream, its arguments checked, its task queued."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import accumulate
from typing import NoReturn

from npu.device.task import OTHER, PLAIN, Task
from npu.errors import NpuError
from npu.hccl import cost
from npu.hccl.cost import Costed
from npu.hccl.dtypes import DTYPES, REDUCTIONS, can_reduce
from npu.hccl.select import NAMES
from npu.runtime.comm import rows
from npu.runtime.comm.board import Note
from npu.runtime.comm.communicator import Communicator
from npu.runtime.comm.inflight import InFlight, Part, Result
from npu.runtime.process import Process
from npu.runtime.side import Side
from npu.runtime.stream import Stream
from npu.runtime.thread import HostThread

Notes = Mapping[int, Note]
MOST_COUNT = 1 << 48  # elements; above this a count is a mistake (unverified)


class Call:
    """What every operation begins with: who calls, on which communicator and stream, with which type."""

    def __init__(self, process: Process, thread: HostThread, comm: Communicator, stream: Stream, op: str, dtype: int = 0) -> None:
        self.process, self.thread, self.comm, self.stream, self.op = process, thread, comm, stream, op
        if comm.suspended:
            raise NpuError("hccl_suspended", group=comm.name)
        if dtype not in DTYPES:
            self.wrong("dataType", dtype, f"one of {', '.join(map(str, DTYPES))}")
        self.dtype, self.itemsize = dtype, DTYPES[dtype].size
        self.sides: list[tuple[str, Side, int]] = []  # buffers that were named: parameter, where, bytes

    def wrong(self, parameter: str, value: object, expected: str) -> NoReturn:
        raise NpuError("hccl_argument", op=f"Hccl{NAMES[self.op][2]}", parameter=parameter, value=value, expected=expected)

    def count(self, value: int, name: str = "count") -> int:
        if not 0 <= value < MOST_COUNT:
            self.wrong(name, value, f"0 to {MOST_COUNT - 1}")
        return value

    def rank(self, value: int, name: str = "root") -> int:
        if not 0 <= value < self.comm.size:
            self.wrong(name, value, f"0 to {self.comm.size - 1}")
        return value

    def reduction(self, value: int) -> int:
        if not 0 <= value < len(REDUCTIONS):
            self.wrong("op", value, "0 sum, 1 prod, 2 max, 3 min")
        if not can_reduce(self.dtype, value, self.process.machine.chip.family):
            raise NpuError("hccl_not_supported", op=f"Hccl{NAMES[self.op][2]}", dtype=DTYPES[self.dtype].name,
                           reduction=REDUCTIONS[value], soc=self.process.machine.chip.name)  # fmt: skip
        return value

    def side(self, address: int, elements: int, name: str) -> Side:
        """A device buffer of that many elements."""
        if address == 0 and elements:
            raise NpuError("hccl_pointer", parameter=name, value=0)
        try:
            side = Side(self.process, address, elements * self.itemsize, True)
            self.sides.append((name, side, elements * self.itemsize))
            return side
        except NpuError as error:
            raise NpuError("hccl_pointer", parameter=name, value=hex(address), reason=error.situation) from error

    def queue(self, parts: list[Part], price: Callable[[], Costed], size: int, count: int) -> None:
        """Put it on the stream. size in bytes, count in elements: what is told of it."""
        process, thread = self.process, self.thread
        flight = InFlight(process, self.comm, self.op, parts, price)
        recording = process.recording
        row = PLAIN
        if recording.on:
            thread.correlation, thread.bytes = recording.correlation(), size
            row = recording.row("HCCL", count=size)
            if process.hazards is not None:
                written = {id(side) for part in parts for side, _ in part.writes}
                named = [(name == "recvBuf" or id(side) in written, (side, [(0, count)])) for name, side, count in self.sides]
                process.hazards.expect([a for w, a in named if not w], [a for w, a in named if w])
            flight.told = rows.Told(self.stream.ordinal, self.comm.context.device, thread.correlation, count, size,
                                    DTYPES[self.dtype].name)  # fmt: skip
        task = Task(OTHER, 0, row, on_done=flight.finish)
        task.correlation = thread.correlation
        task.gate, task.on_start = flight.gate, flight.start
        if process.peers is not None:
            process.peers.add(flight)
        self.stream.submit(process, thread, task)

    def everybody(
        self, send: Callable[[], bytes], writes: tuple[tuple[Side, Result], ...], size: int, count: int, facts: dict[str, object],
        price: Callable[[], Costed] | None = None, root: int = 0,
    ) -> None:  # fmt: skip
        """An operation of all ranks. size: as npu.hccl.cost counts it."""
        comm = self.comm
        part = Part(f"all{comm.number()}", tuple(range(comm.size)), send, writes, {**facts, "dataType": self.dtype})
        usual = partial(cost.collective, self.op, comm.group.topology, size, root, comm.settings.algo, comm.settings.buffer)
        self.queue([part], price or usual, count * self.itemsize, count)


def slice_of(note: Note, at: int, size: int) -> bytes:
    """Bytes out of what a rank left."""
    return bytes(note.data[at : at + size])


def data_of(rank: int, notes: Notes) -> bytes:
    """All that a rank left."""
    return bytes(notes[rank].data)


def places_of(call: Call, counts: Sequence[int], places: Sequence[int] | None, name: str) -> list[int]:
    """Where each rank's part lies; packed where no places are given."""
    ranks = call.comm.size
    if len(counts) != ranks:
        call.wrong("counts", f"{len(counts)} numbers", f"one for each of {ranks} ranks")
    for count in counts:
        call.count(count, "counts")
    if places is None:
        return [0, *accumulate(counts)][:ranks]
    if len(places) != ranks or min(places) < 0:
        call.wrong(name, list(places), f"{ranks} places from 0")
    return list(places)
