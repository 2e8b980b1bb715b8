"""The media engine: a floor and a pixel rate per unit, as data (data/dvpp_costs.csv, with what is unverified)."""

from __future__ import annotations

import csv
from functools import cache
from importlib import resources

from npu.soc import Soc

UNITS = ("vpc", "jpegd", "jpege", "pngd")


@cache
def table() -> dict[tuple[str, str], tuple[int, float]]:
    """(chip family or "*", unit) -> (latency ns, pixels per ns)."""
    text = resources.files("npu").joinpath("data/dvpp_costs.csv").read_text(encoding="utf-8")
    return {
        (r["family"], r["unit"]): (int(r["latency_ns"]), float(r["pixels_per_ns"])) for r in csv.DictReader(text.splitlines())
    }


def dvpp_ns(unit: str, pixels: int, soc: Soc) -> int:
    """Time of one uncontended job that walks over so many pixels (the larger of input and output). ValueError: unknown unit."""
    if unit not in UNITS or pixels < 0:
        raise ValueError(f"{pixels} pixels on the media unit {unit!r}")
    rows = table()
    latency, rate = rows.get((soc.family, unit), rows["*", unit])
    return latency + round(pixels / rate)
