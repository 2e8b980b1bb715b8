"""Collectives of whole clusters: thousands of ranks without stepping through all of them.

All servers do the same inside, and every rank talks to its number on the other servers through a port of its own; so one server
and one such column stand for all, stage by stage. A column too long to step takes the closed formula of its algorithm.
"""

from __future__ import annotations

from math import ceil

from npu.cost.fabric import WIRE
from npu.hccl import cost, formula, select, timing, topology
from npu.hccl.formula import Net
from npu.hccl.select import Choice
from npu.hccl.topology import Topology

MOST_TRANSFERS = 20_000  # of a column to step through, about 0.2 s
# operation -> its stages: where, operation, share of the tensor ("rank": an L-th for L ranks a server, "server": an S-th)
STAGES: dict[str, tuple[tuple[str, str, str], ...]] = {
    "all_reduce": (("inside", "reduce_scatter", "all"), ("between", "all_reduce", "rank"), ("inside", "all_gather", "all")),
    "all_gather": (("inside", "all_gather", "server"), ("between", "all_gather", "all")),
    "reduce_scatter": (("between", "reduce_scatter", "all"), ("inside", "reduce_scatter", "server")),
    "broadcast": (("between", "broadcast", "all"), ("inside", "broadcast", "all")),
    "reduce": (("inside", "reduce", "all"), ("between", "reduce", "all")),
    "scatter": (("between", "scatter", "all"), ("inside", "scatter", "server")),
}


def duration(op: str, family: str, servers: int, per_server: int, size: int, algo: str = "", servers_per_pod: int = 48) -> float:
    """ns of a collective of servers x per_server ranks; size as npu.hccl.cost.collective counts it."""
    if servers == 1 or per_server * servers <= 16 or (servers <= servers_per_pod and family == "910_93" and op in WIRE):
        return cost.collective(op, topology.of(family, servers * per_server, per_server, servers_per_pod), size, 0, algo).duration
    column = topology.of(family, servers, 1, servers_per_pod)
    if op == "all_to_all":
        return _all_to_all(column, servers * per_server, size)
    if size > cost.BUFFER:
        loops, rest = divmod(size, cost.BUFFER)
        whole = duration(op, family, servers, per_server, cost.BUFFER, algo, servers_per_pod)
        return loops * whole + (duration(op, family, servers, per_server, rest, algo, servers_per_pod) if rest else 0.0)
    server = topology.of(family, per_server, per_server, servers_per_pod)
    choice = select.choose(op, column, {select.VARIABLE: algo})
    if choice.between == "pipeline":
        return _pipeline(op, column, server, size)
    total = 0.0
    for where, what, share in STAGES[op]:
        part = size / {"all": 1, "rank": per_server, "server": servers}[share]
        if where == "inside":
            if per_server > 1:
                total += cost.collective(what, server, ceil(part), 0, algo).duration
        else:
            total += between(what, choice.between, column, part)
    return total


def between(op: str, algorithm: str, column: Topology, size: float) -> float:
    """ns of one level among ranks that each have a port of their own: stepped, or by formula where the steps are too many."""
    if _transfers(op, algorithm, column.ranks) <= MOST_TRANSFERS:
        parts = cost.pieces(op, Choice(select.inside_of(column), algorithm), column)
        return max((t.end for t in timing.play(parts, column, size / column.ranks)), default=0.0)
    return formula.duration(op, algorithm, column.ranks, size, net_of(column))


def net_of(column: Topology) -> Net:
    """The formula's constants for a column: those of its farthest link, which every step meets."""
    link = column.link(0, column.ranks - 1)
    return Net(link.latency * link.slow, link.slow / min(gbps for _, gbps in link.resources))


def _transfers(op: str, algorithm: str, ranks: int) -> int:
    """About how many transfers the algorithm has."""
    steps = ranks - 1 if algorithm == "ring" else formula.log2_up(ranks)
    return steps * ranks * (2 if op in ("all_reduce", "broadcast") else 1)


def _all_to_all(column: Topology, ranks: int, size: int) -> float:
    """Pairwise: in each of the p - 1 steps all ranks send a p-th the same distance on, and some of them cross servers."""
    far = net_of(column)
    return (ranks - 1) * (far.a + size / ranks * far.b)


def _pipeline(op: str, column: Topology, server: Topology, size: float) -> float:
    ranks = column.ranks * server.ranks
    link = server.link(0, server.ranks - 1) if server.ranks > 1 else None
    inside = Net(link.latency, 1 / min(gbps for _, gbps in link.resources)) if link is not None else Net(0.0, 0.0)
    once = formula.pipeline(ranks, server.ranks, size, net_of(column), inside)
    return 2 * once if op == "all_reduce" else once
