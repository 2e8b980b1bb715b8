"""Collectives on the A3 fabric: time by operation, ranks and bytes, as fitted to measurements (data/fabric_costs.csv).

Small ones go directly, a + w / b, large ones are staged, sqrt(floor^2 + (w / b)^2), where w is what a rank puts on the wire; from
`cut` bytes of w on they are staged. Rank counts between the measured ones take the geometric mean of their neighbours'
constants by log2 of the ranks; outside of them the nearest. bench/fit_collectives.py makes the table and tells its error.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from functools import cache
from importlib import resources
from math import exp, hypot, log, log2
from typing import NamedTuple


class Fit(NamedTuple):
    """latency and floor in ns, rates in bytes per ns, cut in bytes on the wire."""

    latency: float
    direct: float
    floor: float
    staged: float
    cut: float

    def duration(self, wire: float) -> float:
        """ns for that many bytes a rank puts on the wire."""
        return hypot(self.floor, wire / self.staged) if wire > self.cut else self.latency + wire / self.direct


# operation -> bytes a rank puts on the wire, of p ranks and s bytes: the whole tensor of all-reduce and all-to-all, the part of
# one rank for all-gather and reduce-scatter
WIRE: dict[str, Callable[[int, float], float]] = {
    "all_reduce": lambda p, s: 2 * (p - 1) / p * s,
    "all_gather": lambda p, s: (p - 1) * s,
    "reduce_scatter": lambda p, s: (p - 1) * s,
    "all_to_all": lambda p, s: (p - 1) / p * s,
}


@cache
def table() -> dict[str, dict[int, Fit]]:
    """Operation -> ranks -> constants."""
    text = resources.files("npu").joinpath("data/fabric_costs.csv").read_text(encoding="utf-8")
    made: dict[str, dict[int, Fit]] = {}
    for r in csv.DictReader(text.splitlines()):
        fit = Fit(*(float(r[n]) for n in ("latency_ns", "direct_gbps", "floor_ns", "staged_gbps", "cut_bytes")))
        made.setdefault(r["op"], {})[int(r["ranks"])] = fit
    return made


@cache
def fit_of(op: str, ranks: int) -> Fit:
    """Constants for a number of ranks. KeyError for an operation that was not measured."""
    known = table()[op]
    counts = sorted(known)
    low = max((p for p in counts if p <= ranks), default=counts[0])
    high = min((p for p in counts if p >= ranks), default=counts[-1])
    if low == high:
        return known[low]
    share = (log2(ranks) - log2(low)) / (log2(high) - log2(low))
    return Fit(*(exp((1 - share) * log(a) + share * log(b)) for a, b in zip(known[low], known[high], strict=True)))


def fabric_ns(op: str, ranks: int, size: float) -> float:
    """ns of a collective of `ranks` on one A3 fabric; size as WIRE counts it. 0 for a single rank; KeyError as fit_of."""
    return 0.0 if ranks < 2 else fit_of(op, ranks).duration(WIRE[op](ranks, size))
