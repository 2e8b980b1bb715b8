"""Which ranks are joined by what: servers, packages and pods, and the link between every two ranks.

A link is a kind, a latency, and the shared things its transfers pass through, each with a bandwidth: a pair of A2 has a wire of
its own, a die of A3 has one port into the switch for all its peers, cards of a PCIe box meet at the host bridge.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from typing import NamedTuple, TypeAlias

Resource: TypeAlias = tuple[str, int, int]  # what it is, and whose
DIES = 2  # ranks of an A3 package
HCCS_GROUP = 4  # cards of the first 910 that are joined by HCCS; a server has two such groups


class Wire(NamedTuple):
    """A row of data/links.csv: words of profiles, ns, GB/s (= bytes per ns)."""

    link: str
    transport: str
    latency_ns: float
    gbps: float


class Link(NamedTuple):
    """How one rank reaches another. latency in ns; resources with their bandwidth in bytes per ns; slow: the factor by which
    this pair's transfers are stretched (1 as built)."""

    wire: str
    link: str
    transport: str
    latency: float
    resources: tuple[tuple[Resource, float], ...]
    slow: float = 1.0


@cache
def wires() -> dict[str, Wire]:
    """data/links.csv by name."""
    text = resources.files("npu").joinpath("data/links.csv").read_text(encoding="utf-8")
    return {
        r["name"]: Wire(r["link"], r["transport"], float(r["latency_ns"]), float(r["gbps"]))
        for r in csv.DictReader(text.splitlines())
    }


@dataclass(frozen=True)
class Topology:
    """family: of the chip (npu.soc). places: (server, device on it) by rank. servers_per_pod: A3 servers that one switch joins,
    0 for no super-pod. slow_links (src, dst, factor) and slow_ranks (rank, factor): injected faults, factors > 1."""

    family: str
    places: tuple[tuple[int, int], ...]
    servers_per_pod: int = 48
    slow_links: tuple[tuple[int, int, float], ...] = ()
    slow_ranks: tuple[tuple[int, float], ...] = ()

    @property
    def ranks(self) -> int:
        return len(self.places)

    @property
    def plain(self) -> bool:
        """Whether nothing was made slow."""
        return not self.slow_links and not self.slow_ranks

    @property
    def servers(self) -> list[list[int]]:
        """Ranks by server, servers and ranks in order."""
        found: dict[int, list[int]] = {}
        for rank, (server, _) in enumerate(self.places):
            found.setdefault(server, []).append(rank)
        return [found[s] for s in sorted(found)]

    def pod(self, rank: int) -> int:
        server = self.places[rank][0]
        return server // self.servers_per_pod if self.family == "910_93" and self.servers_per_pod else server

    @property
    def one_fabric(self) -> bool:
        """Whether all ranks hang on one A3 switch: the net whose collectives were measured."""
        return self.family == "910_93" and len({self.pod(r) for r in range(self.ranks)}) == 1

    def link(self, src: int, dst: int) -> Link:
        """The link from one rank to another. ValueError for a rank and itself."""
        if src == dst:
            raise ValueError(f"rank {src} has no link to itself")
        name, shared = self._way(src, dst)
        wire = wires()[name]
        slow = max(
            (*(f for a, b, f in self.slow_links if (a, b) == (src, dst)), *(f for r, f in self.slow_ranks if r in (src, dst))),
            default=1.0,
        )
        return Link(name, wire.link, wire.transport, wire.latency_ns, tuple((r, wires()[w].gbps) for r, w in shared), slow)

    def _way(self, src: int, dst: int) -> tuple[str, list[tuple[Resource, str]]]:
        """Name of the wire between two ranks, and the (resource, wire that gives its bandwidth) it passes through."""
        (server, one), (other_server, other) = self.places[src], self.places[dst]
        if self.family == "910_93":
            if server == other_server and one // DIES == other // DIES:
                return "sio", [(("sio", src, dst), "sio")]
            if self.pod(src) == self.pod(dst):
                name = "hccs_sw" if server == other_server else "hccs_sw_far"
                return name, _ports(src, dst, "port", name)
            return "roce_a3", _ports(src, dst, "nic", "roce_a3")
        if server != other_server:
            name = "roce_910" if self.family == "910" else "roce"
            return name, _ports(src, dst, "nic", name)
        if self.family == "910B":
            return "hccs", [(("wire", src, dst), "hccs")]
        if self.family == "910" and one // HCCS_GROUP == other // HCCS_GROUP:
            return "hccs_910", [(("wire", src, dst), "hccs_910")]
        return "pcie", [*_ports(src, dst, "pcie", "pcie"), (("bridge", server, 0), "host_bridge")]


def _ports(src: int, dst: int, what: str, wire: str) -> list[tuple[Resource, str]]:
    return [((f"{what} out", src, 0), wire), ((f"{what} in", dst, 0), wire)]


@lru_cache(maxsize=64)
def of(family: str, ranks: int, per_server: int, servers_per_pod: int = 48) -> Topology:
    """A regular net: ranks in order, per_server of them on each server (the last one may have fewer)."""
    return Topology(family, tuple(divmod(r, per_server) for r in range(ranks)), servers_per_pod)
