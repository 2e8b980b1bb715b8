"""Matrix multiplication on the cube cores: T = launch + (main^p + epilogue^p)^(1/p), and the pipes' part in it.

main is the time of the best tiling (npu.cost.tiling); a fused epilogue that needs vector cores runs behind the cube.
"""

from __future__ import annotations

from npu.cost import chip, pmu
from npu.cost.fits import MatmulFit, matmul_fit
from npu.cost.tiling import Gemm, P, Tiling, k_step, padded, slowdown, tiling
from npu.cost.work import Cost, Work
from npu.soc import Soc

MAC_MARGIN = 1.02  # measured aic_mac_time over padded MNK / (4096 * blocks * clock)

# What the vector cores cost when they finish a cube kernel: cycles per vector of elements and element operation
# (AutomaticBufferFusionOp: 13.1 cycles for a chain of three).
EPILOGUE_CYCLES = 4.4
FAMILIES = {"float32": "matmul_fp32", "int8": "matmul_int8", "uint8": "matmul_int8"}  # constants of their own
WEIGHTS_ONLY = "WeightQuant"  # in the operator's name: int8 weights, made fp16 by the vector cores before the product
FIXPIPE_OPS = 2  # operations per output the cube's own output stage does: bias or requantisation, and relu
# Activations the output stage cannot do whatever their count: they need exponentials or tables.
VECTOR_ACTIVATIONS = ("Gelu", "Silu", "Swish", "Sigmoid", "Tanh", "Mish", "Elu", "Softplus", "Erf", "Exp")


def epilogue_us(work: Work, outputs: int, soc: Soc) -> float:
    """Vector time behind a cube kernel, us; 0 where the output stage does it (conv + relu stays AI_CORE in real profiles)."""
    by_name = any(name in work.op for name in VECTOR_ACTIVATIONS)
    if not work.epilogue or (work.epilogue <= FIXPIPE_OPS * outputs and not by_name):
        return 0.0
    # the accumulator leaves the cube as fp32
    return work.epilogue * EPILOGUE_CYCLES / chip.lanes(soc, "float32") / (chip.vector_cores(soc) * soc.cube_mhz)


def cube_cost(work: Work, soc: Soc, gemm: Gemm, fit: MatmulFit) -> Cost:
    """The Cost of a product with its epilogue: launch + (main^p + epilogue^p)^(1/p), the vector part behind the cube's."""
    best = tiling(gemm, soc, fit, work.schedule)
    outputs = gemm.batch * gemm.m * gemm.n
    vector = epilogue_us(work, outputs, soc)
    us = fit.launch + chip.join(best.main, vector, p=P)
    core = pmu.core_us(us)
    volume = gemm.batch * padded(gemm.m, 16) * padded(gemm.n, 16) * padded(gemm.k, gemm.k_step)
    mac = volume * gemm.slow / (soc.mac_fp16 * best.cores * soc.cube_mhz) * MAC_MARGIN
    mixed = vector > 0 and soc.split
    return _units(work, soc, best, us, core, min(mac, core), vector, outputs, mixed, 2.0 * gemm.batch * gemm.m * gemm.n * gemm.k)


# Shares of the other pipes, from the mstt and asc-devkit rows: mte1 feeds the cube and runs 0.8 of mac time (0.67-0.9),
# mte2 prefetches all the time (0.94-0.98 of a large GEMM), the scalar unit 0.09-0.56; fixpipe writes 6 elements a cycle
# (4.7-12.7).
MTE1_PER_MAC, MTE2_SHARE, SCALAR_SHARE, FIXPIPE_PER_CYCLE = 0.8, 0.96, 0.25, 6


def _units(
    work: Work, soc: Soc, best: Tiling, us: float, core: float, mac: float, vector: float, outputs: int, mixed: bool, flops: float
) -> Cost:
    duration = max(1, round(us * 1000))
    fixpipe = outputs * best.split / (FIXPIPE_PER_CYCLE * best.cores * soc.cube_mhz)
    ns = 1000.0
    return Cost(
        duration=duration,
        task_type="MIX_AIC" if mixed else "AI_CORE",
        block_dim=best.cores,
        mix_block_dim=best.cores * soc.aiv // soc.aic if mixed else 0,
        hbm_share=chip.memory_share(work, duration, soc),
        flops=flops + work.epilogue,
        aic_time=core * ns,
        aic_mac=mac * ns,
        aic_scalar=core * SCALAR_SHARE * ns,
        aic_mte1=min(mac * MTE1_PER_MAC, core) * ns,
        aic_mte2=core * MTE2_SHARE * best.main / us * ns,
        aic_fixpipe=min(fixpipe, core) * ns,
        aic_icache_miss=pmu.cube_miss_rate(core),
        aiv_time=core * ns if mixed else 0.0,
        aiv_vec=min(vector, core) * ns,
        aiv_scalar=0.02 * core * ns if mixed else 0.0,
        aiv_mte2=min(vector / 2, core) * ns if mixed else 0.0,
        aiv_mte3=min(vector / 2, core) * ns,
        aiv_icache_miss=pmu.vector_miss_rate(core) if mixed else 0.0,
    )


def family(work: Work) -> str:
    """Which constants a product takes (npu.cost.fits)."""
    return "matmul_weights_int8" if WEIGHTS_ONLY in work.op else FAMILIES.get(work.dtype, "matmul")


def matmul(work: Work, soc: Soc, fit: MatmulFit | None = None) -> Cost:
    """Cost of a matmul Work, dims (batch, m, n, k), in fp16, bf16, fp32 or int8."""
    batch, m, n, k = work.dims
    size = chip.itemsize(work.dtype)
    if fit is None:
        fit = matmul_fit(family(work), soc.family)
    a = batch * m * k * size
    # int8 products leave as fp16 after requantisation, or as int32: the write bytes know
    gemm = Gemm(
        batch,
        m,
        n,
        k,
        k_step(work.dtype),
        a=a,
        b=work.read_bytes - a if WEIGHTS_ONLY in work.op else batch * n * k * size,
        c=work.write_bytes,
        total=work.read_bytes + work.write_bytes,
        slow=slowdown(work.dtype, soc),
        row=k * size,
    )
    return cube_cost(work, soc, gemm, fit)
