"""The best tiling of a matrix product on the cube cores, and its time.

For each tile (bm, bn) and split s of K, with C cube cores at f GHz:
  blocks = batch * ceil(M/bm) * ceil(N/bn) * s;  rounds = ceil(blocks/C);  act = min(blocks, C)
  compute Tc = rounds * bm*bn * Kpad/s / (macs per cycle * f * eta)
  memory  Th = (A+B bytes, and B again for each further row block, at most `passes` times, where B is beyond L2)
               / min(rate of that working set, act * core rate); what is beyond L2 and what is in it come one after the other
               + C bytes, which L2 takes up to its size / min(warm rate, act * core rate)
  L2      Tl = (A*ceil(N/bn) + B*ceil(M/bm) + C*(1 or 3s)) * tail / min(L2 rate, act * 2 * core rate)
  main = min over tilings of ((Tc^p + Th^p + Tl^p)^(1/p) + (s > 1 ? split : 0)) * slow
The constants (npu.cost.fits) are fitted to 850 measured kernels; docs/fidelity.md gives the errors. That operands stream from
memory from about 37 MB on, well below the L2's 192 MB, is what event loops of weights of 8 to 400 MB show. K is split only for
SPLIT_ROWS rows or fewer, and while an unsplit product uses SPLIT_BLOCKS cores or fewer: measured kernels of more rows or blocks
leave the other cores idle. No tile is 256 rows high: products of 256 rows read weights beyond L2 twice. Rows on the same channels
slow down what cores read, not what memory gives.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import ceil
from typing import NamedTuple

from npu.cost import chip
from npu.cost.fits import MatmulFit
from npu.soc import Soc

P = 3.75  # overlap of a fused epilogue with what runs before it
REFERENCE_L2 = 192 << 20
STRIDE_BYTES = 32768  # rows this far apart fall on the same channels
SPLIT_BLOCKS, SPLIT_ROWS = 4, 16
L2_PER_CORE = 2  # a core reads L2 at twice the rate it reads memory (platform rates: 110 against 32 bytes a cycle, shared)
TILES = (
    (128, 256),
    (128, 128),
    (64, 256),
    (64, 128),
    (128, 64),
    (32, 256),
    (16, 256),
    (16, 128),
    (32, 128),
    (64, 64),
    (16, 64),
    (16, 512),
    (32, 64),
)
SPLITS = (1, 2, 4, 8)
MIN_SPLIT_K = 512


class Gemm(NamedTuple):
    """A product as the cube sees it. a, b, c: bytes of the operands; total: bytes touched once; slow: cycles per fp16 cycle.

    row: bytes of the shortest stretch of an operand that lies together (0: not known, taken as aligned).
    """

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
    row: int = 0


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


def _blocks(gemm: Gemm, tile: tuple[int, int]) -> int:
    return gemm.batch * ceil(gemm.m / tile[0]) * ceil(gemm.n / tile[1])


def _choices(gemm: Gemm, cores: int) -> Iterator[tuple[int, int, int]]:
    """(bm, bn, split) without doubles: tiles are clipped to M and N, K is split only while the blocks still fit."""
    seen = set()
    for wide_m, wide_n in TILES:
        tile = min(wide_m, padded(gemm.m, 16)), min(wide_n, padded(gemm.n, 16))
        if tile in seen:
            continue
        seen.add(tile)
        once = _blocks(gemm, tile)
        for split in SPLITS:
            if split == 1 or (
                gemm.m <= SPLIT_ROWS and once <= SPLIT_BLOCKS and once * split <= cores and gemm.k / split >= MIN_SPLIT_K
            ):
                yield *tile, split


def _beyond(count: float, fit: MatmulFit, soc: Soc) -> float:
    """0 where so many bytes stay in L2, 1 where they stream from memory, between them by size."""
    share = soc.l2 / REFERENCE_L2
    return min(1.0, max(0.0, (count / 1e6 - fit.warm_mb * share) / max(1e-3, (fit.cold_mb - fit.warm_mb) * share)))


def _handicap(gemm: Gemm, fit: MatmulFit) -> float:
    """What is left of every rate where rows lie badly."""
    made = fit.stride if gemm.row >= STRIDE_BYTES else 1.0
    return made * fit.unaligned if gemm.row % 32 else made


@lru_cache(maxsize=8192)
def tiling(gemm: Gemm, soc: Soc, fit: MatmulFit, tuned: tuple[int, ...] = ()) -> Tiling:
    """The fastest tiling of a product on a chip; see the formulas at the top. tuned: (bm, bn, split) to be taken instead."""
    per_us = soc.mac_fp16 * soc.cube_mhz * fit.eta / gemm.slow
    k_pad = padded(gemm.k, gemm.k_step)
    left = _handicap(gemm, fit)
    slow_rate = fit.hbm * soc.memory_gbps / chip.REFERENCE_GBPS
    warm_rate = max(slow_rate, fit.warm * chip.core_ratio(soc))
    far = _beyond(gemm.total - gemm.c, fit, soc)
    rate = 1 / ((1 - far) / warm_rate + far / slow_rate)
    streamed = _beyond(gemm.b, fit, soc)
    best: Tiling | None = None
    for bm, bn, split in [tuned] if tuned else _choices(gemm, soc.aic):
        blocks = _blocks(gemm, (bm, bn)) * split
        rounds, act = ceil(blocks / soc.aic), min(blocks, soc.aic)
        core_rate = act * fit.core * chip.clock_ratio(soc) * left
        compute = rounds * bm * bn * k_pad / split / per_us
        row_blocks = ceil(gemm.m / bm)
        read = gemm.total - gemm.c + gemm.b * streamed * (min(row_blocks, max(1.0, fit.passes)) - 1)
        kept = min(gemm.c, soc.l2)
        written = kept / min(warm_rate, core_rate) + (gemm.c - kept) / min(slow_rate, core_rate)
        memory = (read / min(rate, core_rate) + written) / 1e6
        again = gemm.a * ceil(gemm.n / bn) + gemm.b * row_blocks + gemm.c * (1 if split == 1 else 3 * split)
        tail = rounds * soc.aic / blocks if blocks > soc.aic else 1.0
        through_l2 = again * tail / min(fit.l2 * chip.core_ratio(soc) * left, L2_PER_CORE * core_rate) / 1e6
        main = chip.join(compute, memory, through_l2, p=fit.p) + (fit.split if split > 1 else 0.0)
        if best is None or main < best.main:
            best = Tiling(main, max(memory, through_l2), act, (bm, bn), split)
    if best is None:
        raise ValueError(f"a product of {gemm.batch} x {gemm.m} x {gemm.n} x {gemm.k} has no tiling")
    return best._replace(main=best.main * fit.slow)
