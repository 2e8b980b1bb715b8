"""Copies: a floor and a bandwidth per direction and kind of host memory, as data (data/copy_costs.csv)."""

from __future__ import annotations

import csv
from functools import cache
from importlib import resources
from typing import NamedTuple

from npu.cost import chip
from npu.soc import Soc


class CopyCost(NamedTuple):
    """One uncontended copy of `size` bytes: `latency_ns` before the first byte, then `bytes_per_ns` (GB/s)."""

    latency_ns: int
    bytes_per_ns: float
    size: int

    @property
    def total(self) -> int:
        """Whole time, ns."""
        return self.latency_ns + round(self.size / self.bytes_per_ns)


@cache
def table() -> dict[tuple[str, str, str], tuple[int, float]]:
    """(chip family or "*", direction, host kind or "*") -> (latency ns, GB/s)."""
    text = resources.files("npu").joinpath("data/copy_costs.csv").read_text(encoding="utf-8")
    return {
        (r["family"], r["direction"], r["host_kind"]): (int(r["latency_ns"]), float(r["gbps"]))
        for r in csv.DictReader(text.splitlines())
    }


def copy_ns(count: int, direction: str, host_kind: str, soc: Soc) -> CopyCost:
    """Cost of copying `count` bytes: direction h2d, d2h, d2d or h2h; host_kind pinned or pageable (ignored for d2d and h2h).

    d2d reads and writes device memory, so it moves at half of the attained memory rate. ValueError names what is unknown.
    """
    if count < 0:
        raise ValueError(f"a copy of {count} bytes")
    rows = table()
    for key in ((soc.family, direction, host_kind), ("*", direction, host_kind), ("*", direction, "*")):
        if key in rows:
            latency, rate = rows[key]
            if direction == "d2d":  # the table's rate is the reference chip's
                rate *= soc.memory_gbps / chip.REFERENCE_GBPS
            return CopyCost(latency, rate, count)
    raise ValueError(f"no copy direction {direction!r} with {host_kind!r} host memory")
