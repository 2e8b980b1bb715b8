"""Sends and receives between two ranks, alone or several at once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from npu.hccl import cost
from npu.hccl.dtypes import DTYPES
from npu.runtime.comm.call import Call, data_of
from npu.runtime.comm.inflight import Part

SEND, RECV = 0, 1


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
        writes = () if kind == SEND else ((side, partial(data_of, other)),)
        parts.append(Part(f"p2p.{source}.{target}.{number}", (me, other), send, writes, facts))
        pairs.append((source, target, size))
        total, count = total + size, count + elements
    call.queue(parts, partial(cost.point_to_point, call.comm.group.topology, tuple(pairs)), total, count)
