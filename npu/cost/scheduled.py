"""Kernels whose schedule is known tile by tile: what npu.tbe predicts of an operator of one's own, as a model file stores it.

A core works through `loops` tiles; MTE2 brings operands in, the vector and scalar units compute, MTE3 takes the result out.
  one buffer  loops * (MTE2 + compute + MTE3);  two buffers: all three once, and (loops - 1) times the longest
  the chip    not below all bytes over the memory rate the cores reach together
Engine times are thousandths of a cycle, so that a Work of whole numbers follows the clock of the chip it runs on.
"""

from __future__ import annotations

from npu.cost import chip, pmu
from npu.cost.vector import FLOOR_US, WARM_TBPS
from npu.cost.work import Cost, Work
from npu.soc import Soc

NAMES = ("mte2", "vector", "scalar", "mte3", "loops", "cores", "buffers")
STEPS = 1000  # of a cycle
MEMORY_TBPS = 1.5  # 402 MB in 268 us on 48 cores with 16 KB tiles (Add of asc-devkit on 910B1)


def scheduled(work: Work, soc: Soc) -> Cost:
    """Cost of a scheduled Work, dims NAMES: thousandths of a cycle of a tile by engine, tiles of a core, cores, buffers (1 or 2).

    work.schedule holds the same of another schedule of the operator, which is then the one that counts.
    """
    mte2, vector, scalar, mte3, loops, cores, buffers = work.schedule or work.dims
    us = kernel_us((mte2, vector + scalar, mte3), loops, buffers > 1, work.read_bytes + work.write_bytes, soc)
    duration = max(1, round(us * 1000))
    core = pmu.core_us(us) * 1000
    busy = {"mte2": mte2, "vector": vector, "scalar": scalar, "mte3": mte3}
    units = {name: min(core, loops * v / STEPS / soc.cube_mhz * 1000) for name, v in busy.items()}
    split = soc.split  # where cube and vector share a core, time, scalar and mte2 count as the cube's
    return Cost(
        duration,
        chip.vector_task(soc),
        max(1, min(cores, chip.vector_cores(soc))),
        hbm_share=chip.memory_share(work, duration, soc),
        aic_time=0.0 if split else core,
        aic_scalar=0.0 if split else units["scalar"],
        aic_mte2=0.0 if split else units["mte2"],
        aiv_time=core if split else 0.0,
        aiv_vec=units["vector"],
        aiv_scalar=units["scalar"] if split else 0.0,
        aiv_mte2=units["mte2"] if split else 0.0,
        aiv_mte3=units["mte3"],
    )


def kernel_us(engines: tuple[float, float, float], loops: int, doubled: bool, moved: int, soc: Soc) -> float:
    """Time of a kernel. engines: MTE2, compute, MTE3 of one tile, thousandths of a cycle; moved: bytes through memory."""
    once = sum(engines)
    steps = once + max(0, loops - 1) * max(engines) if doubled else loops * once
    together = moved / chip.bandwidth(soc, moved, MEMORY_TBPS, WARM_TBPS) / 1e6
    return FLOOR_US + max(steps / STEPS / soc.cube_mhz, together)
