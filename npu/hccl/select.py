"""Which algorithm an operation takes: by hardware inside a server, by HCCL_ALGO or number of servers between them.

HCCL_ALGO is "level0:NA;level1:<name>;level2:<name>", or the same for single operators: "allreduce=...;level1:ring/allgather=...".
What does not exist is refused by name; an algorithm an operation lacks is replaced, as HCCL does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from npu.hccl.topology import Topology

VARIABLE = "HCCL_ALGO"
FIRST = "910"  # the family whose default between servers is H-D_R or ring
NEWEST = "950"  # has NHR only
# operation -> its name in HCCL_ALGO, in profiles (hcom_...), in logs (tags)
NAMES: dict[str, tuple[str, str, str]] = {
    "all_reduce": ("allreduce", "allReduce", "AllReduce"),
    "all_gather": ("allgather", "allGather", "AllGather"),
    "reduce_scatter": ("reducescatter", "reduceScatter", "ReduceScatter"),
    "broadcast": ("broadcast", "broadcast", "Broadcast"),
    "reduce": ("reduce", "reduce", "Reduce"),
    "scatter": ("scatter", "scatter", "Scatter"),
    "all_to_all": ("alltoall", "alltoall", "AllToAll"),
    "send": ("", "send", "Send"),
    "receive": ("", "receive", "Receive"),
    "batch_send_recv": ("", "batchSendRecv", "BatchSendRecv"),
    "barrier": ("", "barrier", "Barrier"),
}
LEVEL1 = ("ring", "H-D_R", "NHR", "NHR_V1", "NB", "AHC", "pipeline", "pairwise")
NOT_SIMULATED = ("NHR_V1", "AHC")
# algorithms each operation has between servers; the first stands in for what it lacks
HAS: dict[str, tuple[str, ...]] = {
    "all_reduce": ("NHR", "ring", "H-D_R", "NB", "pipeline"),
    "all_gather": ("NHR", "ring", "H-D_R", "NB", "pipeline"),
    "reduce_scatter": ("NHR", "ring", "H-D_R", "NB", "pipeline"),
    "broadcast": ("NHR", "ring", "H-D_R"),
    "reduce": ("H-D_R", "ring"),
    "scatter": ("NHR", "ring"),
    "all_to_all": ("pairwise",),
}
POWERS_ONLY = ("all_gather", "reduce_scatter")  # H-D_R does these for a power of 2 of servers


class BadAlgorithm(ValueError):
    """A value of HCCL_ALGO that cannot be used: what stands there, and what could."""

    def __init__(self, value: str, expected: str) -> None:
        super().__init__(f"{VARIABLE}={value}: {expected}")
        self.value, self.expected = value, expected


class Choice(NamedTuple):
    """Algorithms inside a server and between servers ("NA": there is only one); flat: over all ranks without regard to servers,
    because servers differ in size."""

    inside: str
    between: str
    flat: bool = False

    @property
    def in_profile(self) -> str:
        """As a profile's alg_type shows it."""
        return f"{'MESH' if self.inside == 'mesh' else self.inside.upper()}-{'RING' if self.between == 'NA' else self.between}"

    @property
    def in_log(self) -> str:
        """As logs show it."""
        inside = "fullmesh" if self.inside == "mesh" else self.inside
        between = "NHR" if self.between == "NA" else self.between
        return f"AlgType(level 0-1-2):[{inside}-{between}-NHR]"


def parse(text: str) -> dict[str, str]:
    """Operator name ("" for all) -> algorithm of level 1. BadAlgorithm names what is wrong."""
    made: dict[str, str] = {}
    operators = [names[0] for names in NAMES.values() if names[0]]
    for part in text.split("/"):
        operator, equals, levels = part.rpartition("=")
        if equals and operator not in operators:
            raise BadAlgorithm(operator, f"operators are {', '.join(operators)}")
        for level in levels.split(";"):
            if not level:
                continue
            name, colon, algorithm = level.partition(":")
            if not colon or name not in ("level0", "level1", "level2"):
                raise BadAlgorithm(level, "write level0:NA;level1:<algorithm>;level2:<algorithm>")
            if name == "level0" and algorithm != "NA":
                raise BadAlgorithm(level, "level0 is chosen by the hardware: only NA")
            if name != "level0" and algorithm not in (*LEVEL1, "NA"):
                raise BadAlgorithm(level, f"algorithms are {', '.join(LEVEL1)}")
            if algorithm in NOT_SIMULATED:
                others = ", ".join(name for name in LEVEL1 if name not in NOT_SIMULATED)
                raise BadAlgorithm(level, f"{algorithm} is not simulated; take one of {others}")
            if name == "level1" and algorithm != "NA":
                made[operator] = algorithm
    return made


def inside_of(topology: Topology) -> str:
    """Level 0, by hardware: a mesh where every pair has a way of its own, else a ring."""
    return "mesh" if topology.family in ("910B", "910_93", NEWEST) else "ring"


def choose(op: str, topology: Topology, environ: Mapping[str, str] | None = None) -> Choice:
    """The algorithm of an operation on these ranks. BadAlgorithm for HCCL_ALGO."""
    asked = parse((environ or {}).get(VARIABLE, ""))
    servers = topology.servers
    inside = inside_of(topology)
    if len(servers) == 1:
        return Choice(inside, "NA")
    wanted = asked.get(NAMES[op][0], asked.get("", ""))
    flat = len({len(s) for s in servers}) > 1
    if not wanted:
        power = len(servers) & (len(servers) - 1) == 0
        wanted = ("H-D_R" if power else "ring") if topology.family == FIRST else "NHR"
    if wanted not in HAS[op]:
        wanted = HAS[op][0]
    count = topology.ranks if flat else len(servers)
    if wanted == "H-D_R" and op in POWERS_ONLY and count & (count - 1):
        wanted = "NHR"
    if flat and wanted == "pipeline":
        wanted = "NHR"
    return Choice(inside, wanted, flat)
