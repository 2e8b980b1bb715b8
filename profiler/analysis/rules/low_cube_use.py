"""Rule 46: products and convolutions stay far below what the cube can do."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from profiler.analysis.calls import column
from profiler.analysis.context import Context
from profiler.analysis.edits import SetTo
from profiler.analysis.judge import Name
from profiler.analysis.kernel_model import Kind, modelled_ns, per_kind, product
from profiler.analysis.rules.kernels import computing, critical_ns, said_of
from profiler.analysis.rules.operators import chip_known, described, mixed
from profiler.analysis.views.roofline import BOUND, PIPES, busiest, cores, ratio
from profiler.findings import Finding

NAME = Name("low-cube-use", 46, "operator")
SHARE = 0.05  # of the computing time, on the critical path
LOW_MAC = 0.6
LOW_EFFICIENCY = 0.5  # of the roofline
FLAT = 16  # rows or columns of a product that cannot fill the cube: it is memory bound by nature
SLOWER = 1.25  # than the cost model, whose errors reach this far (hardware model: 9 of 10 products beyond 50 us)


def low_cube_use(context: Context) -> Iterator[Finding]:
    """Fires when products and convolutions on the critical path take 5 % of the computing time although their cube works under
    60 % of it and no pipe 80 %, or they reach under half of the roofline, and each takes 1.25 times what the cost model gives for
    its shape. Gain: the modelled time, never less than the roofline's. Silent where the cube works 80 % of the time, for products
    of 16 rows or columns and fewer, for kernels mixed with vector work, whose cube must wait for it, and for unknown chips."""
    if "op_type" not in context.trace.task or not chip_known(context):
        return
    found = context.views.roofline
    products = np.flatnonzero(found.cube)
    rows, duration = found.row[products], found.duration[products]
    floor, efficiency = found.floor_ns[products], found.efficiency[products]
    mac = ratio(context.trace, "mac", rows)
    made = np.maximum(modelled_ns(context, rows, product), floor)
    idle_cube = (mac < LOW_MAC) & (busiest(context.trace, PIPES, rows) < BOUND)
    slow = (floor > 0) & (efficiency < LOW_EFFICIENCY)
    chosen = (idle_cube | slow) & ~(mac >= BOUND) & (duration >= SLOWER * np.nan_to_num(made, nan=np.inf))
    chosen &= (per_kind(context, rows, _narrowest) > FLAT) & ~mixed(context, rows)
    mine = rows[chosen]
    if not len(mine) or critical_ns(context, mine) < SHARE * computing(context):
        return
    weight = duration[chosen]
    blocks, there = column(context.trace, "task", "block_dim")[mine], cores(context.trace, context.chip, mine)
    facts = described(context, mine) | {
        "mac_share": float(np.average(mac[chosen], weights=weight)) if not np.isnan(mac[chosen]).any() else "-",
        "efficiency_share": float(np.average(efficiency[chosen], weights=weight)),
        "fill_share": float(np.average(np.clip(blocks / there, 0, 1), weights=weight)) if (blocks > 0).all() else "-",
        "model_ns": int(made[chosen].sum()),
    }
    yield said_of(context, NAME, facts, mine, (SetTo(mine, made[chosen].astype(np.int64)),), "medium", "model")


def _narrowest(kind: Kind) -> float:
    """The smaller of rows and columns of a product; convolutions are as wide as their channels."""
    work = product(kind)
    if work is None:
        return 0.0
    return (
        float(min(work.dims[1:3]))
        if work.form == "matmul"
        else float(min(work.dims[0] * work.dims[1] * work.dims[2], work.dims[3]))
    )
