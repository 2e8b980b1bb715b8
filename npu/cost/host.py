"""What one API call costs the host, besides any waiting: a table by C name (data/host_costs.csv), with its sources."""

from __future__ import annotations

import csv
from functools import cache
from importlib import resources

DEFAULT_NS = 1_500  # a call the table does not list: one argument check and one lock (unverified)


@cache
def table() -> dict[str, int]:
    """C name -> ns. "aclrtSetDevice:open" is the first call of a process on a device, "aclrtSetDevice" a repeated one."""
    text = resources.files("npu").joinpath("data/host_costs.csv").read_text(encoding="utf-8")
    return {r["call"]: int(r["ns"]) for r in csv.DictReader(text.splitlines())}


def call_ns(name: str) -> int:
    """Modelled host time of one call by its C name, ns; DEFAULT_NS for a name the table does not list."""
    return table().get(name, DEFAULT_NS)
