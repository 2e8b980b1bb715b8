"""Closed forms: the time of a collective on a net without congestion, beyond what stepping can do.

One step of n bytes with reduction costs a + n b + n g (Hockney): a ns a step, b ns per byte of a link, g ns per byte added.
n is the whole tensor, p the ranks. Source: the algorithm introduction of HCCL's public documentation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Net(NamedTuple):
    """a: ns a step; b: ns per byte on a link; g: ns per byte added."""

    a: float
    b: float
    g: float = 0.0


def log2_up(p: int) -> int:
    """ceil(log2 p)."""
    return (p - 1).bit_length()


def _log2_down(p: int) -> int:
    return p.bit_length() - 1


def _sum(steps: float, moved: float, added: float, net: Net) -> float:
    return steps * net.a + moved * net.b + added * net.g


def _halving_all_reduce(p: int, n: float, net: Net) -> float:
    whole = 1 << _log2_down(p)
    part = (whole - 1) / whole
    if whole == p:
        return _sum(2 * _log2_down(p), 2 * part * n, part * n, net)
    return _sum(2 * _log2_down(p) + 2, (2 * part + 2) * n, (part + 1) * n, net)


def _part(p: int, n: float) -> float:
    """(p - 1) / p n."""
    return (p - 1) / p * n


Form = Callable[[int, float, Net], float]

# (operation, algorithm) -> time in ns of p ranks with n bytes
FORMS: dict[tuple[str, str], Form] = {
    ("reduce_scatter", "ring"): lambda p, n, net: _sum(p - 1, _part(p, n), _part(p, n), net),
    ("reduce_scatter", "mesh"): lambda p, n, net: _sum(1, n / p, _part(p, n), net),
    ("reduce_scatter", "H-D_R"): lambda p, n, net: _sum(_log2_down(p), _part(p, n), _part(p, n), net),
    ("reduce_scatter", "NHR"): lambda p, n, net: _sum(log2_up(p), _part(p, n), _part(p, n), net),
    ("all_gather", "ring"): lambda p, n, net: _sum(p - 1, _part(p, n), 0, net),
    ("all_gather", "mesh"): lambda p, n, net: _sum(1, n / p, 0, net),
    ("all_gather", "H-D_R"): lambda p, n, net: _sum(_log2_down(p), _part(p, n), 0, net),
    ("all_gather", "NHR"): lambda p, n, net: _sum(log2_up(p), _part(p, n), 0, net),
    ("all_reduce", "ring"): lambda p, n, net: _sum(2 * (p - 1), 2 * _part(p, n), _part(p, n), net),
    ("all_reduce", "mesh"): lambda p, n, net: _sum(2, 2 * n / p, _part(p, n), net),
    ("all_reduce", "H-D_R"): _halving_all_reduce,
    ("all_reduce", "NHR"): lambda p, n, net: _sum(2 * log2_up(p), 2 * _part(p, n), _part(p, n), net),
    ("all_reduce", "parameter_server"): lambda p, n, net: _sum(2, 2 * (p - 1) * n, (p - 1) * n, net),
    ("broadcast", "ring"): lambda p, n, net: (p - 1) * (net.a + n * net.b),
    ("broadcast", "mesh"): lambda p, n, net: _sum(2, 2 * n / p, 0, net),
    ("broadcast", "H-D_R"): lambda p, n, net: log2_up(p) * (net.a + n * net.b),
    ("broadcast", "NHR"): lambda p, n, net: _sum(2 * log2_up(p), 2 * _part(p, n), 0, net),
    ("broadcast", "star"): lambda p, n, net: net.a + n * net.b,
    ("reduce", "ring"): lambda p, n, net: (p - 1) * (net.a + n * net.b + n * net.g),
    ("reduce", "mesh"): lambda p, n, net: _sum(2, 2 * n / p, _part(p, n), net),
    ("reduce", "H-D_R"): lambda p, n, net: log2_up(p) * (net.a + n * net.b + n * net.g),
    ("scatter", "ring"): lambda p, n, net: _sum(p - 1, _part(p, n), 0, net),
    ("scatter", "mesh"): lambda p, n, net: _sum(1, n / p, 0, net),
    ("scatter", "NHR"): lambda p, n, net: _sum(log2_up(p), _part(p, n), 0, net),
    ("scatter", "star"): lambda p, n, net: net.a + n / p * net.b,
    ("all_to_all", "pairwise"): lambda p, n, net: _sum(p - 1, _part(p, n), 0, net),
    ("all_to_all", "mesh"): lambda p, n, net: _sum(1, n / p, 0, net),
}
# NB moves what NHR moves in as many steps.
FORMS |= {(op, "NB"): FORMS[op, "NHR"] for op in ("reduce_scatter", "all_gather", "all_reduce")}


def duration(op: str, algorithm: str, p: int, n: float, net: Net) -> float:
    """ns of one collective of p ranks with n bytes in all. KeyError for an algorithm the operation lacks; 0 for one rank."""
    form = FORMS[op, algorithm]
    return 0.0 if p <= 1 else form(p, n, net)


def pipeline(p: int, width: int, n: float, between: Net, inside: Net) -> float:
    """All-gather or reduce-scatter of p ranks on servers of `width`: a ring between overlapped with a mesh inside, ns."""
    servers = p // width
    near = n / p * inside.b + inside.a if width > 1 else 0.0
    far = n / p * between.b + between.a
    return max(far, near) * (servers - 1) + near
