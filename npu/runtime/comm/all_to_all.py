"""Operations in which each rank has something of its own for each other one: all-to-all with equal and with given counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from npu.errors import NpuError
from npu.hccl import cost
from npu.hccl.cost import Costed
from npu.hccl.select import NAMES
from npu.runtime.comm.call import Call, Notes, places_of, slice_of
from npu.runtime.comm.inflight import Part


def all_to_all(call: Call, send: int, send_count: int, receive: int, receive_count: int) -> None:
    """Each rank gets a part of the same size from every one. Counts: elements for one rank. NpuError hccl_argument."""
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
    """The same with counts and places (elements) for each rank; None: packed. NpuError hccl_argument, hccl_mismatch."""
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
    out, into = places_of(call, send_counts, send_places, "sdispls"), places_of(call, receive_counts, receive_places, "rdispls")
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
        return slice_of(notes[rank], 8 * comm.size + sum(sent[: comm.rank]) * each, sent[comm.rank] * each)

    writes = tuple(
        (call.side(receive + p * each, c, "recvBuf"), partial(piece, rank))
        for rank, (p, c) in enumerate(zip(into, receive_counts, strict=True))
    )
    part = Part(f"all{comm.number()}", tuple(range(comm.size)), packed, writes, {**facts, "dataType": call.dtype}, True)

    def by_pairs() -> Costed:
        counts = table(part.notes)
        return cost.exchange(comm.group.topology, tuple(tuple(c * each for c in row) for row in counts), comm.settings.algo)

    call.queue([part], price or by_pairs, sum(send_counts) * each, sum(send_counts))
