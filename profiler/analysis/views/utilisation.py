"""How much of the chip the window used (view V10)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from profiler.analysis.calls import column
from profiler.analysis.views.basis import Basis
from profiler.analysis.views.roofline import Roofline, cores, ratio
from profiler.findings import Breakdown


class Utilisation(NamedTuple):
    """One device. flops: of the window's products. mfu_share: the time they take at the peak of their types over the steps' wall
    time, None when no product could be told. cube_share: mac-weighted share of the kernels' time (None without counters).
    fill_share: cores used over cores there, weighted by time (None without block counts). busy_share: computing over wall
    time."""

    device: int
    flops: float
    mfu_share: float | None
    cube_share: float | None
    fill_share: float | None
    busy_share: float


def utilisation(basis: Basis, found: Roofline, breakdown: tuple[Breakdown, ...]) -> tuple[Utilisation, ...]:
    """One record per device that computed."""
    trace = basis.trace
    duration = basis.durations(found.row)
    blocks = column(trace, "task", "block_dim")[found.row]
    there = cores(trace, basis.chip, found.row)
    mac = ratio(trace, "mac", found.row)
    made = []
    for device in sorted({b.device for b in breakdown}):
        records = [b for b in breakdown if b.device == device]
        wall = sum((b.preparing or 0) + b.stage + (b.tail or 0) for b in records)
        mine = trace.task["device"][found.row] == device if len(found.row) else np.zeros(0, bool)
        product = mine & found.cube & (found.floor_ns > 0)
        ideal = float((found.flops[product] / found.peak[product]).sum())  # ns the products take at the peak of their types
        known, counted = mine & (blocks > 0), mine & ~np.isnan(mac)
        time = max(1, int(duration[mine].sum()))
        made.append(
            Utilisation(
                device,
                float(found.flops[product].sum()),
                ideal / max(1, wall) if product.any() else None,
                float((mac[counted] * duration[counted]).sum() / time) if counted.any() else None,
                float((np.minimum(blocks, there)[known] * duration[known]).sum() / (there[known] * duration[known]).sum())
                if known.any()
                else None,
                sum(b.computing for b in records) / max(1, wall),
            )
        )
    return tuple(made)
