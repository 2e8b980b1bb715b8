"""What a collective costs on a net: its algorithms, its time, every transfer.

On one A3 fabric the time is the measured one (npu.cost.fabric) and the steps are stretched to it; everywhere else the steps are
played. Whole numbers of slices are played with a fractional size, so that the steps are made once for all sizes.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from npu.cost import fabric_ns
from npu.cost.fabric import WIRE, fit_of
from npu.hccl import plan, select, timing
from npu.hccl.select import Choice
from npu.hccl.timing import Piece, Timed
from npu.hccl.topology import Topology
from npu.units import MIB

BUFFER = 200 * MIB  # HCCL_BUFFSIZE; a larger payload goes in several loops


class Costed(NamedTuple):
    """duration in ns; transfers with times from 0, of the first loop where there are several."""

    choice: Choice
    duration: float
    transfers: tuple[Timed, ...]


@lru_cache(maxsize=256)
def collective(op: str, topology: Topology, size: int, root: int = 0, algo: str = "", buffer: int = BUFFER) -> Costed:
    """One operation of all ranks. size: bytes of the whole tensor (all-gather, reduce-scatter, scatter: all ranks' parts
    together; all-to-all: what a rank sends); algo: value of HCCL_ALGO. BadAlgorithm for it."""
    choice = select.choose(op, topology, {select.VARIABLE: algo})
    if topology.ranks == 1:
        return Costed(choice, 0.0, ())
    if size > buffer and not (topology.one_fabric and op in WIRE):
        loops, rest = divmod(size, buffer)
        whole = collective(op, topology, buffer, root, algo, buffer)
        last = collective(op, topology, rest, root, algo, buffer).duration if rest else 0.0
        return whole._replace(duration=loops * whole.duration + last)
    parts = pieces(op, choice, topology, root)
    transfers = timing.play(parts, topology, size / topology.ranks)
    stepped = max((t.end for t in transfers), default=0.0)
    duration = _on_fabric(op, topology, size, stepped, parts) if topology.one_fabric else stepped
    return Costed(choice, duration, tuple(stretched(transfers, duration / stepped if stepped else 1.0)))


@lru_cache(maxsize=64)
def pieces(op: str, choice: Choice, topology: Topology, root: int = 0) -> tuple[Piece, ...]:
    """Transfers of an operation whose tensor has one element for each rank."""
    return timing.pieces(plan.steps(op, choice, topology, topology.ranks, root))


def _on_fabric(op: str, topology: Topology, size: int, stepped: float, parts: tuple[Piece, ...]) -> float:
    """Measured time; for operations that were not measured the steps behind the measured latency of an all-gather. What was
    made slow stretches it as it stretches the steps."""
    ranks = topology.ranks
    if op not in WIRE:
        return stepped + fit_of("all_gather", ranks).latency
    measured = fabric_ns(op, ranks, size / ranks if op in ("all_gather", "reduce_scatter") else size)
    if topology.plain:
        return measured
    usual = Topology(topology.family, topology.places, topology.servers_per_pod)
    return measured * stepped / max((t.end for t in timing.play(parts, usual, size / ranks)), default=stepped)


def stretched(transfers: list[Timed], factor: float) -> list[Timed]:
    """Transfers with all times multiplied."""
    if factor == 1.0:
        return transfers
    return [t._replace(wait=t.wait * factor, start=t.start * factor, end=t.end * factor) for t in transfers]


def exchange(topology: Topology, counts: tuple[tuple[int, ...], ...], algo: str = "") -> Costed:
    """An all-to-all with bytes of its own for every pair (counts[src][dst])."""
    choice = select.choose("all_to_all", topology, {select.VARIABLE: algo})
    transfers = timing.play(timing.pieces(plan.exchange(choice, counts)), topology)
    return Costed(choice, _latest(topology, transfers), tuple(transfers))


def point_to_point(topology: Topology, pairs: tuple[tuple[int, int, int], ...]) -> Costed:
    """Sends (source, destination, bytes), all at once."""
    transfers = timing.play(timing.pieces(plan.point_to_point(pairs)), topology)
    return Costed(Choice(select.inside_of(topology), "NA"), _latest(topology, transfers), tuple(transfers))


def barrier(topology: Topology, algo: str = "") -> Costed:
    """An all-reduce of one element."""
    return collective("all_reduce", topology, 4, 0, algo)


def _latest(topology: Topology, transfers: list[Timed]) -> float:
    stepped = max((t.end for t in transfers), default=0.0)
    return stepped + (fit_of("all_to_all", topology.ranks).latency if topology.one_fabric and topology.ranks > 1 else 0.0)
