"""Collectives in which all ranks do the same, or one is the root (the others: all_to_all, point_to_point). Arguments are checked,
then one task lies on the stream, whose end the exchange between the ranks decides."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from npu.hccl import cost
from npu.runtime.comm import arithmetic
from npu.runtime.comm.board import Data
from npu.runtime.comm.call import Call, Notes, data_of, places_of, slice_of


def _all(notes: Notes) -> list[Data]:
    return [notes[rank].data for rank in sorted(notes)]


def all_reduce(call: Call, send: int, receive: int, count: int, op: int) -> None:
    """All ranks get the reduction over all. count: elements of one rank; op: place in REDUCTIONS.

    NpuError hccl_argument, hccl_pointer, hccl_not_supported."""
    call.reduction(op)
    source, target = call.side(send, call.count(count), "sendBuf"), call.side(receive, count, "recvBuf")
    size = count * call.itemsize
    group, key = call.comm.group, f"{call.comm.name} {call.comm.sequence}"

    def result(notes: Notes) -> bytes:
        return group.result(key, lambda: arithmetic.reduced(_all(notes), call.dtype, op))

    call.everybody(lambda: source.read(size), ((target, result),), size, count, {"count": count, "reduceOp": op})


def broadcast(call: Call, buffer: int, count: int, root: int) -> None:
    """All ranks get the root's buffer. count: elements. NpuError hccl_argument, hccl_pointer."""
    side = call.side(buffer, call.count(count), "buf")
    size, mine = count * call.itemsize, call.comm.rank == call.rank(root)
    writes = () if mine else ((side, lambda notes: bytes(notes[root].data)),)
    send = partial(side.read, size) if mine else bytes
    call.everybody(send, writes, size, count, {"count": count, "root": root}, root=root)


def reduce(call: Call, send: int, receive: int, count: int, op: int, root: int) -> None:
    """The root gets the reduction over all. count: elements of one rank.

    NpuError hccl_argument, hccl_pointer, hccl_not_supported."""
    call.reduction(op)
    size, mine = count * call.itemsize, call.comm.rank == call.rank(root)
    source = call.side(send, call.count(count), "sendBuf")
    target = call.side(receive, count, "recvBuf") if mine else None
    writes = () if target is None else ((target, lambda notes: arithmetic.reduced(_all(notes), call.dtype, op)),)
    call.everybody(lambda: source.read(size), writes, size, count, {"count": count, "reduceOp": op, "root": root}, root=root)


def reduce_scatter(call: Call, send: int, receive: int, count: int, op: int) -> None:
    """Each rank gets its part of the reduction over all. count: elements of a part.

    NpuError hccl_argument, hccl_pointer, hccl_not_supported."""
    ranks = call.comm.size
    reduce_scatter_v(call, send, [call.count(count, "recvCount")] * ranks, None, receive, count, op)


def reduce_scatter_v(
    call: Call, send: int, counts: Sequence[int], places: Sequence[int] | None, receive: int, own: int, op: int
) -> None:
    """counts and places: of each rank's part in the send buffer, elements."""
    call.reduction(op)
    places = places_of(call, counts, places, "sendDispls")
    me = call.comm.rank
    if counts[me] != own:
        call.wrong("recvCount", own, f"{counts[me]}, what sendCounts says of rank {me}")
    total = max((p + c for p, c in zip(places, counts, strict=True)), default=0)
    source, target = call.side(send, total, "sendBuf"), call.side(receive, own, "recvBuf")
    each = call.itemsize

    def result(notes: Notes) -> bytes:
        pieces = [slice_of(notes[r], places[me] * each, own * each) for r in sorted(notes)]
        return arithmetic.reduced(pieces, call.dtype, op)

    facts = {"count": list(counts), "reduceOp": op}
    call.everybody(lambda: source.read(total * each), ((target, result),), sum(counts) * each, own, facts)


def all_gather(call: Call, send: int, receive: int, count: int) -> None:
    """All ranks get the parts of all, in order of ranks. count: elements of one part. NpuError hccl_argument, hccl_pointer."""
    all_gather_v(call, send, count, receive, [call.count(count, "sendCount")] * call.comm.size, None)


def all_gather_v(call: Call, send: int, own: int, receive: int, counts: Sequence[int], places: Sequence[int] | None) -> None:
    """counts and places: of each rank's part in the receive buffer, elements."""
    places = places_of(call, counts, places, "recvDispls")
    me, each = call.comm.rank, call.itemsize
    if counts[me] != own:
        call.wrong("sendCount", own, f"{counts[me]}, what recvCounts says of rank {me}")
    source = call.side(send, own, "sendBuf")
    call.side(receive, max((p + c for p, c in zip(places, counts, strict=True)), default=0), "recvBuf")
    writes = tuple(
        (call.side(receive + p * each, c, "recvBuf"), partial(data_of, rank))
        for rank, (p, c) in enumerate(zip(places, counts, strict=True))
        if c
    )
    call.everybody(lambda: source.read(own * each), writes, sum(counts) * each, own, {"count": list(counts)})


def scatter(call: Call, send: int, receive: int, count: int, root: int) -> None:
    """Each rank gets its part of the root's buffer. count: elements of one part. NpuError hccl_argument, hccl_pointer."""
    me, each, ranks = call.comm.rank, call.itemsize, call.comm.size
    size = call.count(count, "recvCount") * each
    source = call.side(send, count * ranks, "sendBuf") if me == call.rank(root) else None
    target = call.side(receive, count, "recvBuf")
    left = bytes if source is None else partial(source.read, size * ranks)
    writes = ((target, lambda notes: slice_of(notes[root], me * size, size)),)
    call.everybody(left, writes, size * ranks, count, {"count": count, "root": root}, root=root)


def barrier(call: Call) -> None:
    """All ranks wait for each other; no data moves."""
    topology, algo = call.comm.group.topology, call.comm.settings.algo
    call.everybody(bytes, (), 0, 0, {}, partial(cost.barrier, topology, algo))
