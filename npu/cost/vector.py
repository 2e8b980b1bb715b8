"""Vector kernels: elementwise, row (norm, softmax, reduction), across, fill and layout forms, constants per operator as data.

T = max(1.05, a + s * (cores in use - 1) + main + d * waves / clock)
  waves = ceil(rows/V), where rows shorter than 256 bytes share one; across: ceil(rows/V) * steps, as an axis that is not the last
       is walked step by step, with all that lies behind it, by one core for each row of what lies before it
main = (max(b*Tm + c*cycles, roof)^p + epilogue^p)^(1/p)
  Tm = bytes / min(memory rate, cores in use * 0.1 TB/s) * (1 + burst / bytes of a row), a core is put to use for every 8 KiB;
       the memory rate is 1.4 TB/s from HBM and 2.5 from L2 unless the operator's row says otherwise; burst is what a row costs
       besides its bytes where rows are moved one by one (TransData, ConcatD: a filter's 9 taps take far longer than an image);
       a tuned schedule deals out other blocks than 8 KiB, which a core moves at a rate of block / (block + BURST_BYTES)
  cycles = elements / lanes / (cores in use * clock)
  roof = max(bytes / L2 peak, (bytes - L2 size) / nominal memory rate); it speaks where a chip has less bandwidth than the
         fitted ones, whose figures it would otherwise inherit
a, s, b, c, d stand in data/vector_costs.csv (us, us, 1, cycles, us): a fit to 910B1, 910B2 and 910B3 kernels at 1.8 GHz. Where
rows are no multiple of 32 bytes b counts `odd` times: a transposition takes three times as long then. An operator not listed
takes the row "*" of its form. npu.cost.errors has the errors.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from importlib import resources
from math import ceil, prod
from typing import NamedTuple

from npu.cost import chip, pmu
from npu.cost.matmul import EPILOGUE_CYCLES
from npu.cost.tiling import P
from npu.cost.work import Cost, Work
from npu.soc import Soc

# Types that many operators have no vector instructions for: one row of constants may stand for all of them.
INTEGER, INTEGERS = "integer", ("int8", "uint8", "int16", "int32", "int64")
FLOOR_US = 1.05  # the smallest vector kernels profiles show take 0.92-1.4 us
HBM_TBPS, WARM_TBPS, CORE_TBPS = 1.4, 2.5, 0.1
L2_PEAK_TBPS = 5.2  # of A2 (asc-devkit)
BLOCK_BYTES = 8192
ROW_BYTES = 32  # of a transfer
VECTOR_BYTES = 256  # shorter rows share an instruction
BURST_BYTES = 336  # what a transfer costs besides its bytes: 14 cycles at 24 bytes a cycle (npu.tbe.predict)
# Shares of the fixed part of a kernel in which the units work (scalar Add, Mul, Abs of 910B3: core time under 1.4 us).
FIXED = {"vec": 0.03, "scalar": 0.30, "mte2": 0.18, "mte3": 0.12}
SCALAR_SHARE = 0.05  # of the main part


class Constants(NamedTuple):
    """One row of data/vector_costs.csv.

    vec, mte2, mte3: shares of the main part in which these units are busy. task_type: "" is a plain vector kernel.
    hbm, warm: memory rates, TB/s. whole: a row is never shared by cores. odd: factor of b where rows are no multiple of 32 bytes.
    burst: bytes that could have been moved in the time a row takes besides its own. s: what each further core adds to the start.
    """

    a: float
    b: float
    c: float
    d: float
    vec: float
    mte2: float
    mte3: float
    task_type: str
    hbm: float
    warm: float
    whole: bool = False
    odd: float = 1.0
    burst: float = 0.0
    s: float = 0.0


@cache
def table() -> dict[tuple[str, str, str], Constants]:
    """(form, op, dtype) -> constants; op "*" is any other of the form, dtype "" any type without a row of its own, "integer" any
    of the integers without one."""
    text = resources.files("npu").joinpath("data/vector_costs.csv").read_text(encoding="utf-8")
    return {
        (r["form"], r["op"], r["dtype"]): Constants(
            a=float(r["a"]),
            b=float(r["b"]),
            c=float(r["c"]),
            d=float(r["d"]),
            vec=float(r["vec"]),
            mte2=float(r["mte2"]),
            mte3=float(r["mte3"]),
            task_type=r["task_type"],
            hbm=float(r["hbm"] or HBM_TBPS),
            warm=float(r["warm"] or WARM_TBPS),
            whole=r["whole"] == "yes",
            odd=float(r["odd"] or 1),
            burst=float(r["burst"] or 0),
            s=float(r["s"] or 0),
        )
        for r in csv.DictReader(text.splitlines())
    }


def constants(form: str, op: str, dtype: str) -> Constants:
    """The closest row: operator and type, operator, then the form's generic row."""
    return closest(table(), form, op, dtype)


def closest(rows: Mapping[tuple[str, str, str], Constants], form: str, op: str, dtype: str) -> Constants:
    """The same among the rows given. An operator that has constants along the last axis only takes these across too, with the
    time of a step that others show."""
    whole = INTEGER if dtype in INTEGERS else ""
    own = next((rows[place] for place in ((form, op, dtype), (form, op, whole), (form, op, "")) if place in rows), None)
    if own is not None:
        return own
    generic = rows[form, "*", ""]
    along = rows.get(("row", op, "")) if form == "across" else None
    return generic if along is None else along._replace(d=generic.d)


def _cores(count: float, soc: Soc, block: int) -> float:
    """Cores in use for so many bytes. A fraction is allowed: rounding up would make larger kernels faster."""
    return min(float(chip.vector_cores(soc)), max(1.0, count / block))


def _attained(block: int) -> float:
    """Rate of a core that moves blocks of so many bytes, against the usual ones."""
    return (1 + BURST_BYTES / BLOCK_BYTES) / (1 + BURST_BYTES / block)


class Terms(NamedTuple):
    """What a kernel's time is made of, us each: memory, cycles and rows per unit of b, c and d; roof bounds the first two.

    unaligned: its rows are no multiple of 32 bytes. row_bytes: of one row; 0 where there are none."""

    moved: float
    cycles: float
    by_row: float
    roof: float
    cores: float
    unaligned: bool = False
    row_bytes: float = 0.0

    def spread(self, chosen: Constants) -> float:
        """Memory time of b = 1 before odd rows: what each row costs besides its bytes is in it."""
        return self.moved * (1 + chosen.burst / max(self.row_bytes, ROW_BYTES)) if self.row_bytes else self.moved

    def us(self, chosen: Constants, fused: float = 0.0) -> float:
        moved = self.spread(chosen) * (chosen.odd if self.unaligned else 1)
        main = chip.join(max(chosen.b * moved + chosen.c * self.cycles, self.roof), fused, p=P)
        return max(FLOOR_US, self.start(chosen) + main + chosen.d * self.by_row)

    def start(self, chosen: Constants) -> float:
        """The fixed part, us: a scalar Add takes 1.4 us on one core, 2 MB on all 48 cores 8 us."""
        return chosen.a + chosen.s * max(0.0, self.cores - 1)


def terms(work: Work, soc: Soc, chosen: Constants) -> Terms:
    """The terms of a Work under an operator's memory rates."""
    elements, rows, *steps = work.dims
    count = work.read_bytes + work.write_bytes
    clock = chip.clock_ratio(soc)
    block = work.schedule[0] if work.schedule else BLOCK_BYTES
    shared = rows / ceil(rows / chip.vector_cores(soc)) if chosen.whole and rows else float(chip.vector_cores(soc))
    core_rate = min(shared, _cores(count, soc, block)) * CORE_TBPS * clock * _attained(block)
    moved = count / min(chip.bandwidth(soc, count, chosen.hbm, chosen.warm), core_rate) / 1e6
    # one tensor in and one out; taken from the elements so that a second operand never makes the kernel faster
    cores = min(shared, _cores(2 * elements * chip.itemsize(work.dtype), soc, block))
    per_cycle = chip.lanes(soc, work.dtype) * cores * soc.cube_mhz
    roof = max(count / (L2_PEAK_TBPS * chip.core_ratio(soc)) / 1e6, max(0, count - soc.l2) / soc.memory_gbps / 1e3)
    unaligned = rows > 0 and elements // rows * chip.itemsize(work.dtype) % ROW_BYTES != 0
    row_bytes = elements * chip.itemsize(work.dtype) / rows if rows > 1 else 0.0
    together = rows * min(1.0, max(row_bytes, ROW_BYTES) / VECTOR_BYTES) if work.form == "row" and row_bytes else rows
    waves = ceil(together / chip.vector_cores(soc)) * prod(steps)
    return Terms(moved, elements / per_cycle, waves / clock, roof, cores, unaligned, row_bytes)


def vector(work: Work, soc: Soc, chosen: Constants | None = None) -> Cost:
    """Cost of a vector, row, fill, layout or depthwise Work, dims (elements, rows), or an across Work with its steps besides."""
    chosen = constants(work.form, work.op, work.dtype) if chosen is None else chosen
    made = terms(work, soc, chosen)
    fused = work.epilogue * EPILOGUE_CYCLES / (chip.lanes(soc, work.dtype) * made.cores * soc.cube_mhz)
    us = made.us(chosen, fused)
    return _units(work, soc, chosen, us, max(0.0, us - max(made.start(chosen), FLOOR_US)), fused, ceil(made.cores))


def _units(work: Work, soc: Soc, chosen: Constants, us: float, main: float, fused: float, cores: int) -> Cost:
    """Unit times: a share of the fixed part plus a share of the main part of the core's time."""
    duration = max(1, round(us * 1000))
    core = pmu.core_us(us)
    part = core * main / us  # of the core's time, what the elements take
    fixed = min(core - part, 1.5)  # beyond the first us or two, units wait for tiling data and synchronisation
    vec = min(core, FIXED["vec"] * fixed + max(chosen.vec * part, min(fused, part)))
    scalar = FIXED["scalar"] * fixed + SCALAR_SHARE * part
    mte2 = (FIXED["mte2"] * fixed if chosen.mte2 > 0 else 0.0) + chosen.mte2 * part
    mte3 = FIXED["mte3"] * fixed + chosen.mte3 * part
    ns = 1000.0
    split = soc.split
    return Cost(
        duration=duration,
        task_type=chosen.task_type if split and chosen.task_type else chip.vector_task(soc),
        block_dim=cores,
        hbm_share=chip.memory_share(work, duration, soc),
        flops=float(work.epilogue + (0 if work.form in ("fill", "layout") else work.dims[0])),
        # where cube and vector share a core its time and its scalar and mte2 units are one, and counted as aic
        aic_time=0.0 if split else core * ns,
        aic_scalar=0.0 if split else scalar * ns,
        aic_mte2=0.0 if split else mte2 * ns,
        aic_icache_miss=0.0 if split else pmu.vector_miss_rate(core),
        aiv_time=core * ns if split else 0.0,
        aiv_vec=vec * ns,
        aiv_scalar=scalar * ns if split else 0.0,
        aiv_mte2=mte2 * ns if split else 0.0,
        aiv_mte3=mte3 * ns,
        aiv_icache_miss=pmu.vector_miss_rate(core) if split else 0.0,
    )
