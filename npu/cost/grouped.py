"""Grouped matmul: every expert multiplies its own rows by its own weights (MoE layers).

Of E experts, active = E * (1 - (1 - 1/E)^rows) get any rows; rows per active expert are rounded to 16, to 128 when over 64.
  T = launch + ((bytes of active weights and of activations / rate)^p + (F / (peak * eta))^p)^(1/p),
      times `unaligned` where rows are no multiple of 32 bytes
Constants (npu.cost.fits) from two-kernel MoE layers of an A3 die and single GroupedMatmul kernels of 910B2.
"""

from __future__ import annotations

from math import ceil

from npu.cost import chip, pmu
from npu.cost.fits import GroupedFit, grouped_fit
from npu.cost.matmul import MAC_MARGIN, MTE1_PER_MAC, MTE2_SHARE, SCALAR_SHARE
from npu.cost.tiling import padded, slowdown
from npu.cost.work import Cost, Work
from npu.soc import Soc


def active_experts(experts: int, rows: int) -> float:
    """Expected number of experts that get at least one of so many rows, dealt evenly."""
    return experts * (1 - (1 - 1 / experts) ** rows)


def padded_rows(rows: float) -> int:
    """Rows an expert computes: whole blocks of 16, of 128 once there are more than 64."""
    return padded(ceil(rows), 128 if rows > 64 else 16)


def grouped_matmul(work: Work, soc: Soc, fit: GroupedFit | None = None) -> Cost:
    """Cost of a grouped_matmul Work, dims (experts, m, n, k); m counts the rows of all experts together.

    int8 needs vector cores to dequantise: MIX_AIC on split chips; fp16 and bf16 stay AI_CORE.
    """
    fit = grouped_fit(soc.family) if fit is None else fit
    experts, m, n, k = work.dims
    active = active_experts(experts, m)
    size = chip.itemsize(work.dtype)
    slow = slowdown(work.dtype, soc)
    expert_bytes = n * k * size
    count = active * expert_bytes + max(0, work.read_bytes - experts * expert_bytes) + work.write_bytes
    memory = count / (fit.rate * soc.memory_gbps / chip.REFERENCE_GBPS) / 1e6
    volume = active * padded_rows(m / active) * n * k
    compute = volume * slow / (soc.aic * soc.mac_fp16 * soc.cube_mhz * fit.eta)
    ragged = fit.unaligned if (k * size) % 32 or (n * size) % 32 else 1.0
    us = fit.launch + chip.join(memory, compute, p=fit.p) * ragged
    duration = max(1, round(us * 1000))
    core = pmu.core_us(us)
    mac = min(core, volume * slow / (soc.aic * soc.mac_fp16 * soc.cube_mhz) * MAC_MARGIN)
    mixed = soc.split and work.dtype == "int8"
    busy = core * (us - fit.launch) / us
    ns = 1000.0
    return Cost(
        duration=duration,
        task_type="MIX_AIC" if mixed else "AI_CORE",
        block_dim=soc.aic,
        mix_block_dim=soc.aiv if mixed else 0,
        hbm_share=chip.memory_share(work, duration, soc),
        flops=2.0 * m * n * k + work.epilogue,
        aic_time=core * ns,
        aic_mac=mac * ns,
        aic_scalar=core * SCALAR_SHARE * ns,
        aic_mte1=mac * MTE1_PER_MAC * ns,
        aic_mte2=busy * MTE2_SHARE * ns,
        aic_fixpipe=busy * 0.05 * ns,
        aic_icache_miss=pmu.cube_miss_rate(core),
        aiv_time=core * ns if mixed else 0.0,
        aiv_vec=busy * 0.68 * ns if mixed else 0.0,  # quant_group_matmul on 910B1: aiv_vec_ratio 0.683
        aiv_icache_miss=pmu.vector_miss_rate(core) if mixed else 0.0,
    )
