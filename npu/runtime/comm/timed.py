"""The operations without their data, for callers that hand it over at the call (early): the task on the stream, whose end the
exchange between the ranks decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from npu.hccl import cost
from npu.hccl.cost import Costed
from npu.runtime.comm.call import Call
from npu.runtime.comm.inflight import Part
from npu.runtime.comm.operations import barrier

WHOLE = ("all_gather", "reduce_scatter", "scatter", "all_to_all")  # counted by what all ranks' parts are together
COUNT_BYTES = 8


def collective(call: Call, count: int, facts: Mapping[str, object], root: int = 0) -> None:
    """An operation of all ranks. count: elements of one rank's part (all-reduce, broadcast, reduce: of the tensor)."""
    if call.op == "barrier":
        barrier(call)
        return
    size = count * call.itemsize * (call.comm.size if call.op in WHOLE else 1)
    call.everybody(bytes, (), size, count, {"count": count, **facts}, root=root)


def exchange(call: Call, counts: Sequence[int]) -> None:
    """An all-to-all with counts of its own for every pair. counts: elements to each rank."""
    comm, each = call.comm, call.itemsize
    sent = b"".join(c.to_bytes(COUNT_BYTES, "little") for c in counts)
    part = Part(f"all{comm.number()}", tuple(range(comm.size)), lambda: sent, (), {"dataType": call.dtype}, True)

    def price() -> Costed:
        heads = [bytes(part.notes[rank].data) for rank in sorted(part.notes)]
        rows = ((int.from_bytes(h[i : i + COUNT_BYTES], "little") * each for i in range(0, len(h), COUNT_BYTES)) for h in heads)
        return cost.exchange(comm.group.topology, tuple(tuple(row) for row in rows), comm.settings.algo)

    call.queue([part], price, sum(counts) * each, sum(counts))


def messages(call: Call, items: Sequence[tuple[bool, int, int]]) -> None:
    """Sends and receives at once: (whether it is sent, elements, the other rank)."""
    me = call.comm.rank
    parts, pairs, total = [], [], 0
    for sends, count, other in items:
        source, target = (me, other) if sends else (other, me)
        number = call.comm.pairs[source, target]
        call.comm.pairs[source, target] += 1
        facts = {"op": "p2p", "count": count, "dataType": call.dtype}
        parts.append(Part(f"p2p.{source}.{target}.{number}", (me, other), bytes, (), facts))
        pairs.append((source, target, count * call.itemsize))
        total += count
    call.queue(parts, partial(cost.point_to_point, call.comm.group.topology, tuple(pairs)), total * call.itemsize, total)
