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


def pages_ns(count: int, *work: str) -> int:
    """Host time of work on each of `count` pages, ns, on top of the cost of the call: map, unmap (map_huge, unmap_huge for pages
    of 2 MiB), clear, pin, unpin. Rows "page:..." of the table."""
    return count * sum(table()[f"page:{name}"] for name in work)
