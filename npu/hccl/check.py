"""Whether an algorithm's steps bring the right data everywhere: they are carried out on integers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npu.hccl import plan, select
from npu.hccl.dtypes import MAX, MIN, PROD, SUM
from npu.hccl.topology import Topology
from npu.hccl.transfer import split

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_RANKS = 64  # what is carried out; more only repeats the pattern
ELEMENTS = 3  # of each rank's slice
# (operation, reduction, type) -> ranks up to which the result is exactly representable (public hccl_test)
CEILINGS: dict[tuple[str, int, str], int] = {
    ("all_reduce", SUM, "int8"): 63, ("all_reduce", SUM, "int16"): 16383, ("all_reduce", SUM, "fp16"): 511,
    ("all_reduce", SUM, "bfp16"): 63, ("all_reduce", PROD, "int8"): 6, ("all_reduce", PROD, "int16"): 14,
    ("all_reduce", PROD, "int32"): 30, ("all_reduce", PROD, "int64"): 62, ("all_reduce", PROD, "fp32"): 127,
    ("all_reduce", PROD, "fp16"): 15, ("reduce_scatter", SUM, "int8"): 11, ("reduce_scatter", SUM, "int16"): 181,
    ("reduce_scatter", SUM, "fp16"): 31,
}  # fmt: skip


def representable(op: str, reduction: int, dtype: str, ranks: int) -> bool:
    """Whether the result can be compared exactly."""
    ceiling = CEILINGS.get((op, reduction, dtype))
    return reduction in (MAX, MIN) or ceiling is None or ranks <= ceiling


def right(op: str, topology: Topology, algo: str = "", root: int = 0) -> bool:
    """Carry out the steps of a collective of these ranks, and compare. ValueError for more than MOST_RANKS."""
    import numpy as np

    ranks = topology.ranks
    if ranks > MOST_RANKS:
        raise ValueError(f"{ranks} ranks")
    size = ranks * ELEMENTS
    choice = select.choose(op, topology, {select.VARIABLE: algo})
    data = [np.arange(size) * 7 + rank * 1009 for rank in range(ranks)]
    slices = split(0, size, ranks)
    if op == "all_gather":
        for rank, buffer in enumerate(data):
            begin, length = slices[rank]
            kept = buffer[begin : begin + length].copy()
            buffer[:] = 0
            buffer[begin : begin + length] = kept
    start = [buffer.copy() for buffer in data]
    into = [np.zeros(size, int) for _ in range(ranks)] if op == "all_to_all" else data
    for step in plan.steps(op, choice, topology, size, root):
        moved = [(t, data[t.src][t.src_at : t.src_at + t.size].copy()) for t in step]
        for t, piece in moved:
            place = into[t.dst][t.dst_at : t.dst_at + t.size]
            place[:] = place + piece if t.reduce else piece
    total = np.sum(start, axis=0)
    order = [r for s in sorted((plan.rotated(s, root) for s in topology.servers), key=lambda s: root not in s) for r in s]

    def part(buffer: NDArray[np.int64], place: int) -> list[int]:
        begin, length = slices[place]
        return [int(v) for v in buffer[begin : begin + length]]

    if op == "all_reduce":
        return all(np.array_equal(b, total) for b in data)
    if op == "all_gather":
        return all(np.array_equal(b, total) for b in data)
    if op == "broadcast":
        return all(np.array_equal(b, start[root]) for b in data)
    if op == "reduce":
        return bool(np.array_equal(data[root], total))
    if op == "reduce_scatter":
        return all(part(data[rank], rank) == part(total, rank) for rank in range(ranks))
    if op == "scatter":
        return all(part(data[rank], place) == part(start[root], place) for place, rank in enumerate(order))
    return all(part(into[j], i) == part(start[i], j) for i in range(ranks) for j in range(ranks))
