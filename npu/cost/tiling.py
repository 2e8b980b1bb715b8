"""The best tiling of a matrix product on the cube cores, and its time.

For each tile (bm, bn) and split s of K, with C cube cores at f GHz:
  blocks = batch * ceil(M/bm) * ceil(N/bn) * s;  rounds = ceil(blocks/C);  act = min(blocks, C)
  compute Tc = rounds * bm*bn * Kpad/s / (macs per cycle * f * eta)
  memory  Th = (A+B+C bytes) / min(memory rate, act * core rate)
  L2      Tl = (A*ceil(N/bn) + B*ceil(M/bm) + C*(1 or 3s)) * tail / min(L2 rate, act * core rate)
  main = min over tilings of ((Tc^p + Th^p + Tl^p)^(1/p) + rounds * tr)
The form and its constants are a fit to 2,000 measured kernels; median error 13.8 % (9 % beyond 50 us).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import ceil
from typing import NamedTuple

from npu.cost import chip
from npu.soc import Soc

ETA = 0.89  # attained part of the cube's peak
HBM_TBPS, WARM_TBPS, L2_TBPS, CORE_TBPS = 1.27, 1.48, 6.5, 0.27
P = 3.75
ROUND_US = 0.08
TILES = (
    (128, 256), (256, 128), (128, 128), (64, 256), (256, 64), (64, 128), (128, 64), (32, 256), (16, 256), (16, 128), (32, 128),
    (64, 64), (16, 64), (16, 512), (32, 64),
)
SPLITS = (1, 2, 4, 8)
MIN_SPLIT_K = 512


class Gemm(NamedTuple):
    """A product as the cube sees it. a, b, c: bytes of the operands; total: bytes touched once; slow: cycles per fp16 cycle."""

    batch: int
    m: int
    n: int
    k: int
    k_step: int
    a: float
    b: float
    c: float
    total: float
    slow: float
    eta: float = ETA
    hbm: float = HBM_TBPS
    warm: float = WARM_TBPS


class Tiling(NamedTuple):
    """The best way found. main: us without t0; memory: us of it that memory and L2 alone would take."""

    main: float
    memory: float
    cores: int
    tile: tuple[int, int]
    split: int


def padded(value: int, step: int) -> int:
    return -(-value // step) * step


def slowdown(dtype: str, soc: Soc, hf32: bool = False) -> float:
    """Cube cycles per fp16 cycle: int8 doubles the rate, fp32 has a quarter of it, HF32 half. ValueError for other types."""
    if dtype in ("float16", "bfloat16"):
        return 1.0
    if dtype in ("int8", "uint8"):
        return soc.mac_fp16 / soc.mac_int8
    if dtype == "float32":
        return 2.0 if hf32 else 4.0
    raise ValueError(f"data type {dtype!r} cannot be multiplied on the cube")


def k_step(dtype: str) -> int:
    """Elements of K one cube instruction takes: 32 bytes of them."""
    return 32 // chip.itemsize(dtype)


def _choices(gemm: Gemm, cores: int) -> Iterator[tuple[int, int, int, int]]:
    """(bm, bn, split, blocks) without doubles: tiles are clipped to M and N, K is split only while the blocks still fit."""
    seen = set()
    for wide_m, wide_n in TILES:
        tile = min(wide_m, padded(gemm.m, 16)), min(wide_n, padded(gemm.n, 16))
        if tile in seen:
            continue
        seen.add(tile)
        once = gemm.batch * ceil(gemm.m / tile[0]) * ceil(gemm.n / tile[1])
        for split in SPLITS:
            if split == 1 or (once * split <= cores and gemm.k / split >= MIN_SPLIT_K):
                yield *tile, split, once * split


@lru_cache(maxsize=4096)
def tiling(gemm: Gemm, soc: Soc) -> Tiling:
    """The fastest tiling of a product on a chip; see the formulas at the top."""
    per_us = soc.mac_fp16 * soc.cube_mhz * gemm.eta / gemm.slow
    k_pad = padded(gemm.k, gemm.k_step)
    rate = chip.bandwidth(soc, gemm.total, gemm.hbm, gemm.warm)
    l2_rate = L2_TBPS * chip.core_ratio(soc)
    best: Tiling | None = None
    for bm, bn, split, blocks in _choices(gemm, soc.aic):
        rounds, act = ceil(blocks / soc.aic), min(blocks, soc.aic)
        core_rate = act * CORE_TBPS * chip.clock_ratio(soc)
        compute = rounds * bm * bn * k_pad / split / per_us
        memory = gemm.total / min(rate, core_rate) / 1e6
        again = gemm.a * ceil(gemm.n / bn) + gemm.b * ceil(gemm.m / bm) + gemm.c * (1 if split == 1 else 3 * split)
        tail = rounds * soc.aic / blocks if blocks > soc.aic else 1.0
        through_l2 = again * tail / min(l2_rate, core_rate) / 1e6
        main = chip.join(compute, memory, through_l2, p=P) + rounds * ROUND_US
        if best is None or main < best.main:
            best = Tiling(main, max(memory, through_l2), act, (bm, bn), split)
    if best is None:
        raise ValueError(f"a product of {gemm.batch} x {gemm.m} x {gemm.n} x {gemm.k} has no tiling")
    return best
