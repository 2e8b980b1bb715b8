"""The operations: arguments checked, then one task on the stream whose end the exchange between the ranks decides."""

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
from npu.runtime.comm import arithmetic, rows
from npu.runtime.comm.board import Data, Note
from npu.runtime.comm.communicator import Communicator
from npu.runtime.comm.inflight import InFlight, Part, Result
from npu.runtime.process import Process
from npu.runtime.side import Side
from npu.runtime.stream import Stream
from npu.runtime.thread import HostThread

Notes = Mapping[int, Note]
SEND, RECV = 0, 1
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


def _slice(note: Note, at: int, size: int) -> bytes:
    return bytes(note.data[at : at + size])


def _all(notes: Notes) -> list[Data]:
    return [notes[rank].data for rank in sorted(notes)]


def all_reduce(call: Call, send: int, receive: int, count: int, op: int) -> None:
    call.reduction(op)
    source, target = call.side(send, call.count(count), "sendBuf"), call.side(receive, count, "recvBuf")
    size = count * call.itemsize
    group, key = call.comm.group, f"{call.comm.name} {call.comm.sequence}"

    def result(notes: Notes) -> bytes:
        return group.result(key, lambda: arithmetic.reduced(_all(notes), call.dtype, op))

    call.everybody(lambda: source.read(size), ((target, result),), size, count, {"count": count, "reduceOp": op})


def broadcast(call: Call, buffer: int, count: int, root: int) -> None:
    side = call.side(buffer, call.count(count), "buf")
    size, mine = count * call.itemsize, call.comm.rank == call.rank(root)
    writes = () if mine else ((side, lambda notes: bytes(notes[root].data)),)
    send = partial(side.read, size) if mine else bytes
    call.everybody(send, writes, size, count, {"count": count, "root": root}, root=root)


def reduce(call: Call, send: int, receive: int, count: int, op: int, root: int) -> None:
    call.reduction(op)
    size, mine = count * call.itemsize, call.comm.rank == call.rank(root)
    source = call.side(send, call.count(count), "sendBuf")
    target = call.side(receive, count, "recvBuf") if mine else None
    writes = () if target is None else ((target, lambda notes: arithmetic.reduced(_all(notes), call.dtype, op)),)
    call.everybody(lambda: source.read(size), writes, size, count, {"count": count, "reduceOp": op, "root": root}, root=root)


def reduce_scatter(call: Call, send: int, receive: int, count: int, op: int) -> None:
    ranks = call.comm.size
    reduce_scatter_v(call, send, [call.count(count, "recvCount")] * ranks, None, receive, count, op)


def reduce_scatter_v(
    call: Call, send: int, counts: Sequence[int], places: Sequence[int] | None, receive: int, own: int, op: int
) -> None:
    """counts and places: of each rank's part in the send buffer, elements."""
    call.reduction(op)
    places = _places(call, counts, places, "sendDispls")
    me = call.comm.rank
    if counts[me] != own:
        call.wrong("recvCount", own, f"{counts[me]}, what sendCounts says of rank {me}")
    total = max((p + c for p, c in zip(places, counts, strict=True)), default=0)
    source, target = call.side(send, total, "sendBuf"), call.side(receive, own, "recvBuf")
    each = call.itemsize

    def result(notes: Notes) -> bytes:
        pieces = [_slice(notes[r], places[me] * each, own * each) for r in sorted(notes)]
        return arithmetic.reduced(pieces, call.dtype, op)

    facts = {"count": list(counts), "reduceOp": op}
    call.everybody(lambda: source.read(total * each), ((target, result),), sum(counts) * each, own, facts)


def all_gather(call: Call, send: int, receive: int, count: int) -> None:
    all_gather_v(call, send, count, receive, [call.count(count, "sendCount")] * call.comm.size, None)


def all_gather_v(call: Call, send: int, own: int, receive: int, counts: Sequence[int], places: Sequence[int] | None) -> None:
    """counts and places: of each rank's part in the receive buffer, elements."""
    places = _places(call, counts, places, "recvDispls")
    me, each = call.comm.rank, call.itemsize
    if counts[me] != own:
        call.wrong("sendCount", own, f"{counts[me]}, what recvCounts says of rank {me}")
    source = call.side(send, own, "sendBuf")
    call.side(receive, max((p + c for p, c in zip(places, counts, strict=True)), default=0), "recvBuf")
    writes = tuple(
        (call.side(receive + p * each, c, "recvBuf"), partial(_from, rank))
        for rank, (p, c) in enumerate(zip(places, counts, strict=True))
        if c
    )
    call.everybody(lambda: source.read(own * each), writes, sum(counts) * each, own, {"count": list(counts)})


def _from(rank: int, notes: Notes) -> bytes:
    return bytes(notes[rank].data)


def scatter(call: Call, send: int, receive: int, count: int, root: int) -> None:
    me, each, ranks = call.comm.rank, call.itemsize, call.comm.size
    size = call.count(count, "recvCount") * each
    source = call.side(send, count * ranks, "sendBuf") if me == call.rank(root) else None
    target = call.side(receive, count, "recvBuf")
    left = bytes if source is None else partial(source.read, size * ranks)
    writes = ((target, lambda notes: _slice(notes[root], me * size, size)),)
    call.everybody(left, writes, size * ranks, count, {"count": count, "root": root}, root=root)


def all_to_all(call: Call, send: int, send_count: int, receive: int, receive_count: int) -> None:
    if send_count != receive_count:
        call.wrong("recvCount", receive_count, f"{send_count}, the sendCount")
    ranks = call.comm.size
    counts = [call.count(send_count, "sendCount")] * ranks
    size = send_count * ranks * call.itemsize
    usual = partial(cost.collective, "all_to_all", call.comm.group.topology, size, 0, call.comm.settings.algo)
    _exchange(call, send, counts, None, receive, counts, None, {"count": send_count}, usual)


def all_to_all_v(
    call: Call, send: int, send_counts: Sequence[int], send_places: Sequence[int] | None, receive: int,
    receive_counts: Sequence[int], receive_places: Sequence[int] | None,
) -> None:  # fmt: skip
    _exchange(call, send, send_counts, send_places, receive, receive_counts, receive_places, {}, None)


def all_to_all_vc(call: Call, send: int, matrix: Sequence[int], receive: int) -> None:
    """matrix: elements from rank i to rank j at i * size + j, the same on all ranks; buffers are packed."""
    ranks, me = call.comm.size, call.comm.rank
    if len(matrix) != ranks * ranks:
        call.wrong("sendCountMatrix", f"{len(matrix)} numbers", f"{ranks} x {ranks}")
    mine = list(matrix[me * ranks : (me + 1) * ranks])
    theirs = [matrix[r * ranks + me] for r in range(ranks)]
    _exchange(call, send, mine, None, receive, theirs, None, {"count": list(matrix)}, None)


def _exchange(
    call: Call, send: int, send_counts: Sequence[int], send_places: Sequence[int] | None, receive: int,
    receive_counts: Sequence[int], receive_places: Sequence[int] | None, facts: dict[str, object],
    price: Callable[[], Costed] | None,
) -> None:  # fmt: skip
    """What goes to each rank is packed in order of the ranks and left with its counts."""
    each, comm = call.itemsize, call.comm
    out, into = _places(call, send_counts, send_places, "sdispls"), _places(call, receive_counts, receive_places, "rdispls")
    source = call.side(send, max((p + c for p, c in zip(out, send_counts, strict=True)), default=0), "sendBuf")
    call.side(receive, max((p + c for p, c in zip(into, receive_counts, strict=True)), default=0), "recvBuf")

    def packed() -> bytes:
        counts = b"".join(c.to_bytes(8, "little") for c in send_counts)
        return counts + b"".join(source.read(c * each, p * each) for p, c in zip(out, send_counts, strict=True) if c)

    seen: list[tuple[int, ...]] = []

    def table(notes: Notes) -> list[tuple[int, ...]]:
        if not seen:
            for rank in sorted(notes):
                head = bytes(notes[rank].data[: 8 * comm.size])
                seen.append(tuple(int.from_bytes(head[i : i + 8], "little") for i in range(0, len(head), 8)))
        return seen

    def piece(rank: int, notes: Notes) -> bytes:
        sent = table(notes)[rank]
        if sent[comm.rank] != receive_counts[rank]:
            raise NpuError("hccl_mismatch", parameter="recvCounts", local=receive_counts[rank], remote=sent[comm.rank],
                           remote_rank=rank, tag=f"{NAMES[call.op][2]}_{comm.name}", group=comm.name, size=comm.size,
                           rank=comm.rank, algorithm="", seconds=0)  # fmt: skip
        return _slice(notes[rank], 8 * comm.size + sum(sent[: comm.rank]) * each, sent[comm.rank] * each)

    writes = tuple(
        (call.side(receive + p * each, c, "recvBuf"), partial(piece, rank))
        for rank, (p, c) in enumerate(zip(into, receive_counts, strict=True))
    )
    part = Part(f"all{comm.number()}", tuple(range(comm.size)), packed, writes, {**facts, "dataType": call.dtype}, True)

    def by_pairs() -> Costed:
        counts = table(part.notes)
        return cost.exchange(comm.group.topology, tuple(tuple(c * each for c in row) for row in counts), comm.settings.algo)

    call.queue([part], price or by_pairs, sum(send_counts) * each, sum(send_counts))


def _places(call: Call, counts: Sequence[int], places: Sequence[int] | None, name: str) -> list[int]:
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


def batch(call: Call, items: Sequence[tuple[int, int, int, int, int]]) -> None:
    """Sends and receives at once: (SEND 0 or RECV 1, buffer, count, type, the other rank). A single one is HcclSend, HcclRecv."""
    parts: list[Part] = []
    pairs: list[tuple[int, int, int]] = []
    total = count = 0
    me = call.comm.rank
    for kind, buffer, elements, dtype, other in items:
        if kind not in (SEND, RECV):
            call.wrong("sendRecvType", kind, "0 send, 1 receive")
        if dtype not in DTYPES:
            call.wrong("dataType", dtype, f"one of {', '.join(map(str, DTYPES))}")
        if call.rank(other, "remoteRank") == me:
            call.wrong("remoteRank", other, "another rank")
        call.dtype, call.itemsize = dtype, DTYPES[dtype].size
        side = call.side(buffer, call.count(elements), "buf")
        size = elements * call.itemsize
        source, target = (me, other) if kind == SEND else (other, me)
        number = call.comm.pairs[source, target]
        call.comm.pairs[source, target] += 1
        facts = {"op": "p2p", "count": elements, "dataType": dtype}
        send = partial(side.read, size) if kind == SEND else bytes
        writes = () if kind == SEND else ((side, partial(_from, other)),)
        parts.append(Part(f"p2p.{source}.{target}.{number}", (me, other), send, writes, facts))
        pairs.append((source, target, size))
        total, count = total + size, count + elements
    call.queue(parts, partial(cost.point_to_point, call.comm.group.topology, tuple(pairs)), total, count)


def barrier(call: Call) -> None:
    topology, algo = call.comm.group.topology, call.comm.settings.algo
    call.everybody(bytes, (), 0, 0, {}, partial(cost.barrier, topology, algo))
