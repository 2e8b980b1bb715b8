"""Two levels: inside each server, and between the servers among the ranks of one number.

All-reduce: reduce-scatter inside, all-reduce between, all-gather inside. All-gather: inside first, then between. Reduce-scatter:
between first, then inside. `inside` and `between` are modules of one-level algorithms; all servers have the same number of
ranks, and a rank of position i in server s holds or gets slice s * L + i.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from npu.hccl.transfer import Steps, split, together

Level: TypeAlias = Callable[[Sequence[int], int, int], Steps]
Servers: TypeAlias = Sequence[Sequence[int]]


def columns(servers: Servers) -> list[list[int]]:
    """Ranks of the same number, one list per number."""
    return [list(column) for column in zip(*servers, strict=True)]


def all_reduce(servers: Servers, at: int, size: int, scatter: Level, between: Level, gather: Level) -> Steps:
    """scatter and gather: reduce-scatter and all-gather inside; between: all-reduce."""
    slices = split(at, size, len(servers[0]))
    return (
        together([scatter(server, at, size) for server in servers])
        + together([between(column, *piece) for column, piece in zip(columns(servers), slices, strict=True)])
        + together([gather(server, at, size) for server in servers])
    )


def all_gather(servers: Servers, at: int, size: int, inside: Level, between: Level) -> Steps:
    """ValueError where the size does not divide by the number of ranks: blocks of servers would not fit their slices."""
    blocks = _blocks(servers, at, size)
    return together([inside(server, *block) for server, block in zip(servers, blocks, strict=True)]) + together(
        [between(column, at, size) for column in columns(servers)]
    )


def reduce_scatter(servers: Servers, at: int, size: int, inside: Level, between: Level) -> Steps:
    """As all_gather, the other way round."""
    blocks = _blocks(servers, at, size)
    return together([between(column, at, size) for column in columns(servers)]) + together(
        [inside(server, *block) for server, block in zip(servers, blocks, strict=True)]
    )


def broadcast(servers: Servers, at: int, size: int, inside: Level, between: Level) -> Steps:
    """From the first rank of the first server: between the first ranks, then inside each server."""
    return between([server[0] for server in servers], at, size) + together([inside(server, at, size) for server in servers])


def reduce(servers: Servers, at: int, size: int, inside: Level, between: Level) -> Steps:
    """To the first rank of the first server: inside each server, then between the first ranks."""
    return together([inside(server, at, size) for server in servers]) + between([server[0] for server in servers], at, size)


def scatter(servers: Servers, at: int, size: int, inside: Level, between: Level) -> Steps:
    """From the first rank of the first server: a block to each server's first rank, then slices inside."""
    blocks = _blocks(servers, at, size)
    return between([server[0] for server in servers], at, size) + together(
        [inside(server, *block) for server, block in zip(servers, blocks, strict=True)]
    )


def _blocks(servers: Servers, at: int, size: int) -> list[tuple[int, int]]:
    ranks = len(servers) * len(servers[0])
    if size % ranks:
        raise ValueError(f"{size} elements do not divide by {ranks} ranks")
    return split(at, size, len(servers))
