"""What is recorded of an operation: itself, and of each transfer this rank has part in a wait, the transfer, and a record.

First the rank tells every peer that it is there and waits for each of them: that wait's end is when the peer came. Then, step by
step, a transfer for what goes out and after it a wait for what arrives, on the plane of the peer. Notify numbers are the same on
both sides, so that the k-th record and the k-th wait of a number belong together. On a plane of its own stands the copy of what
the rank keeps into the communication buffer, as it comes; it takes nothing from the time of the operation.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

from npu.cost import copy_ns
from npu.events import COMM_LEVELS, COMM_PARTS
from npu.hccl.select import NAMES
from npu.hccl.timing import Timed

if TYPE_CHECKING:
    from npu.runtime.comm.inflight import InFlight

OP, PART = (COMM_LEVELS.index(name) for name in ("op", "part"))
TRANSFER, RECORD, WAIT, REDUCE = (COMM_PARTS.index(name) for name in ("transfer", "record", "wait", "reduce"))
FLAG_NS = 20  # a notify that is there already (public traces: 20 ns)
OWN = {"all_reduce": True, "reduce_scatter": False, "all_gather": False, "all_to_all": True}  # whether the call names all parts
SHIFT = 32  # a notify number: the source's part and the destination's


@dataclass(frozen=True, slots=True)
class Told:
    """The facts of the call; called with the operation at its end."""

    stream: int
    device: int
    correlation: int
    elements: int
    bytes: int
    dtype: str

    def __call__(self, flight: InFlight, when: int) -> None:
        comm, process = flight.comm, flight.process
        recording = process.recording
        if not recording.on:
            return
        write, text = recording.sink.writer("comm"), recording.text
        number = process.ordinal("collective")
        name = text(f"hcom_{NAMES[flight.op][1]}__{comm.identifier}_{number}_1")
        group = text(comm.name)
        costed = flight.costed
        algorithm = text(costed.choice.in_profile) if costed is not None else -1
        dtype = text(self.dtype)
        write(flight.arrival, when, self.bytes, self.elements, -1, self.correlation, self.device, comm.rank, group, number, name,
              -1, -1, -1, -1, -1, algorithm, dtype, self.stream, -1, OP, -1)  # fmt: skip
        if costed is None:
            return
        begun = max(flight.arrivals.values())
        peers = sorted({r for t in costed.transfers for r in (t.src, t.dst) if comm.rank in (t.src, t.dst)} - {comm.rank})
        planes = {peer: n for n, peer in enumerate(peers)}

        def part(kind: int, start: float, end: float, src: int, dst: int, like: Timed, size: int = -1, notify: int = -1) -> None:
            peer = dst if src == comm.rank else src
            at, to = round(start), max(round(start), min(round(end), when))
            write(at, to, size, -1, notify, -1, self.device, comm.rank, group, number, -1, planes[peer], src, dst,
                  text(like.link.link), text(like.link.transport), -1, dtype if size >= 0 else -1, self.stream, -1, PART,
                  kind)  # fmt: skip

        first: dict[int, Timed] = {}
        for t in costed.transfers:
            if comm.rank in (t.src, t.dst):
                first.setdefault(t.dst if t.src == comm.rank else t.src, t)
        arrival = flight.arrival
        if flight.op in OWN and planes:
            kept = self.bytes // comm.size if OWN[flight.op] else self.bytes
            rate = copy_ns(kept, "d2d", "", process.machine.chip).bytes_per_ns
            to = min(arrival + ceil(kept / rate), when)
            write(arrival, to, kept, -1, -1, -1, self.device, comm.rank, group, number, -1, len(planes), comm.rank, comm.rank,
                  text("ON_CHIP"), text("SDMA"), -1, dtype, self.stream, -1, PART, TRANSFER)  # fmt: skip
        for peer, like in first.items():
            part(RECORD, arrival, arrival + FLAG_NS, comm.rank, peer, like, notify=_notify(comm.rank, peer, 0))
        for peer, like in first.items():
            came = max(flight.arrivals.get(peer, arrival), arrival + FLAG_NS)
            part(WAIT, arrival, came, peer, comm.rank, like, notify=_notify(peer, comm.rank, 0))
        sent: dict[int, float] = {}  # when the own transfers of a step have ended
        for t in costed.transfers:
            if t.src == comm.rank:
                sent[t.step] = max(sent.get(t.step, 0.0), t.end)
        for t in costed.transfers:
            if t.src == comm.rank:
                kind = REDUCE if t.reduce else TRANSFER
                part(kind, begun + t.start, ceil(begun + t.end), t.src, t.dst, t, t.bytes)
                part(RECORD, begun + t.end, begun + t.end + FLAG_NS, t.src, t.dst, t, notify=_notify(t.src, t.dst, 1))
            elif t.dst == comm.rank:
                waits = begun + max(t.wait, sent.get(t.step, 0.0))
                part(WAIT, waits, max(begun + t.end, waits + FLAG_NS), t.src, t.dst, t, notify=_notify(t.src, t.dst, 1))


def _notify(src: int, dst: int, which: int) -> int:
    return (src << SHIFT) + (dst << 1) + which + 4
