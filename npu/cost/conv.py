"""Convolution: an implicit product m = n*ho*wo, n = co, k = ci*kh*kw on the cube; depthwise is vector work.

The input is read once per column of tiles, not kh*kw times: L1 holds the window. Channels are padded to the cube's 32
bytes. The constants (npu.cost.fits, family conv) come from torch Conv2D rows of 910B2 with their layout conversions; that they
hold for a bare Conv2D kernel is unverified. fp32 runs as HF32, half the fp16 rate.
"""

from __future__ import annotations

from dataclasses import replace

from npu.cost import chip
from npu.cost.fits import MatmulFit, matmul_fit
from npu.cost.matmul import cube_cost
from npu.cost.tiling import Gemm, k_step, padded, slowdown
from npu.cost.vector import vector
from npu.cost.work import Cost, Work
from npu.soc import Soc


def conv(work: Work, soc: Soc, fit: MatmulFit | None = None) -> Cost:
    """Cost of a conv Work, dims (n, ho, wo, co, ci_per_group, kh, kw, groups). Unverified for single kernels, see above."""
    n, ho, wo, co, ci, kh, kw, groups = work.dims
    step = k_step(work.dtype)
    m, columns, k = n * ho * wo, max(1, co // groups), padded(ci, step) * kh * kw
    weights = co * k * chip.itemsize(work.dtype)
    gemm = Gemm(
        groups,
        m,
        columns,
        k,
        step,
        a=max(0, work.read_bytes - weights),
        b=weights,
        c=work.write_bytes,
        total=work.read_bytes + work.write_bytes,
        slow=slowdown(work.dtype, soc, hf32=True),
    )
    made = cube_cost(work, soc, gemm, matmul_fit("conv", soc.family) if fit is None else fit)
    return replace(made, flops=2.0 * m * co * ci * kh * kw + work.epilogue)


def depthwise(work: Work, soc: Soc) -> Cost:
    """Cost of a depthwise Work, same dims: one multiply-add per output and tap on the vector cores. Unverified."""
    n, ho, wo, co, ci, kh, kw, _groups = work.dims
    outputs = n * ho * wo * co
    return vector(replace(work, dims=(outputs, n * ho), epilogue=work.epilogue + outputs * ci * kh * kw), soc)
