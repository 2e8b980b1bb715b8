"""From an operation to its steps: the chosen algorithms, put together for these ranks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType

from npu.hccl import bruck, halving_doubling, hierarchical, mesh, nhr, pairwise, pipeline, ring
from npu.hccl.select import Choice
from npu.hccl.topology import Topology
from npu.hccl.transfer import Steps

ALGORITHMS: dict[str, ModuleType] = {"ring": ring, "mesh": mesh, "H-D_R": halving_doubling, "NHR": nhr, "NB": bruck}
ROOTED = ("broadcast", "reduce", "scatter")


def steps(op: str, choice: Choice, topology: Topology, size: int, root: int = 0) -> Steps:
    """Steps of one collective; size: elements of the whole tensor (for all-to-all: what one rank sends), in the buffer from 0.

    Slices lie in the order of ranks; for rooted operations in the order of ranks beginning with the root, server by server.
    """
    servers = [rotated(s, root) for s in topology.servers]
    if op in ROOTED:
        servers.sort(key=lambda s: root not in s)
    everybody = [rank for server in servers for rank in server]
    if op == "all_to_all":
        return _all_to_all(choice, everybody, size)
    if len(everybody) == 1:
        return []
    if choice.between == "NA":
        return _level(op, choice.inside)(everybody, 0, size)
    if choice.flat or len(servers[0]) == 1:
        if choice.between == "pipeline":
            return _pipeline(op, [[rank] for rank in everybody], size)
        return _level(op, choice.between)(everybody, 0, size)
    size = -(-size // len(everybody)) * len(everybody)
    if choice.between == "pipeline":
        return _pipeline(op, servers, size)
    if op == "all_reduce":
        inside = ALGORITHMS[choice.inside]
        between = _level(op, choice.between)
        return hierarchical.all_reduce(servers, 0, size, inside.reduce_scatter, between, inside.all_gather)
    two_levels: Callable[..., Steps] = getattr(hierarchical, op)
    return two_levels(servers, 0, size, _level(op, choice.inside), _level(op, choice.between))


def point_to_point(pairs: Sequence[tuple[int, int, int]]) -> Steps:
    """Sends (source, destination, elements), all at once."""
    from npu.hccl.transfer import Transfer

    return [[Transfer(src, dst, 0, 0, size) for src, dst, size in pairs if size]]


def exchange(choice: Choice, counts: Sequence[Sequence[int]]) -> Steps:
    """An all-to-all with counts of its own for every pair."""
    ranks = range(len(counts))
    mine = pairwise.mesh if choice.between == "NA" and choice.inside == "mesh" else pairwise.pairwise
    return mine(ranks, counts)


def rotated(server: Sequence[int], root: int) -> list[int]:
    """A server's ranks, the root first where it is one of them."""
    at = server.index(root) if root in server else 0
    return [*server[at:], *server[:at]]


def _level(op: str, algorithm: str) -> Callable[[Sequence[int], int, int], Steps]:
    found: Callable[[Sequence[int], int, int], Steps] = getattr(ALGORITHMS[algorithm], op)
    return found


def _pipeline(op: str, servers: Sequence[Sequence[int]], size: int) -> Steps:
    found: Callable[[Sequence[Sequence[int]], int, int], Steps] = getattr(pipeline, op)
    return found(servers, 0, size)


def _all_to_all(choice: Choice, ranks: Sequence[int], size: int) -> Steps:
    each = size // len(ranks)
    return exchange(choice, [[each] * len(ranks)] * len(ranks))
