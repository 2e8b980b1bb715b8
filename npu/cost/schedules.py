"""Which other schedules a kernel could have, and the fastest of them by the cost model.

The library's own choice is part of the model: for products the tiles of npu.cost.tiling, K split only where few blocks are made,
as measured kernels show; for vector kernels a core for every 8 KiB. Tuning looks further:
  products  every tile of 16-multiples whose result fits L0C, K split over cores whatever the number of blocks
  vectors   blocks down to 512 bytes, so that small tensors use more cores
Double buffering is inside the measured constants and no choice of its own; attention and grouped products have one schedule.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from math import ceil

from npu.cost.kernel import kernel
from npu.cost.tiling import MIN_SPLIT_K, padded
from npu.cost.vector import BLOCK_BYTES
from npu.cost.work import Work
from npu.soc import Soc

SIDES = (16, 32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 512)
SPLITS = (1, 2, 3, 4, 6, 8, 12, 16)
BLOCKS = (BLOCK_BYTES // 2, BLOCK_BYTES // 4, BLOCK_BYTES // 8, BLOCK_BYTES // 16)
ACCUMULATOR = 4  # bytes of an element in L0C
TUNED = ("matmul", "conv", "vector", "row", "layout", "fill", "depthwise")


def choices(work: Work, soc: Soc) -> Iterator[tuple[int, ...]]:
    """Schedules besides the own one; none for a form that has only that."""
    if work.form in ("matmul", "conv"):
        yield from _tiles(*_product(work), soc)
    elif work.form in TUNED:
        yield from ((block,) for block in BLOCKS)


def best(work: Work, soc: Soc, more: Iterable[tuple[int, ...]] = ()) -> Work:
    """The Work with the fastest schedule found; as it was, where none is faster. Never slower: what it has is in the running.

    more: further schedules to try."""
    found, least = work, kernel(work, soc).duration
    for schedule in chain(choices(work, soc), more):
        tried = replace(work, schedule=schedule)
        duration = kernel(tried, soc).duration
        if duration < least:
            found, least = tried, duration
    return found


def _product(work: Work) -> tuple[int, int, int, int]:
    """batch, m, n, k of the product a Work is."""
    if work.form == "matmul":
        batch, m, n, k = work.dims
        return batch, m, n, k
    images, ho, wo, co, ci, kh, kw, groups = work.dims
    return groups, images * ho * wo, max(1, co // groups), ci * kh * kw


def _tiles(batch: int, m: int, n: int, k: int, soc: Soc) -> Iterator[tuple[int, int, int]]:
    seen = set()
    for wide_m in SIDES:
        for wide_n in SIDES:
            tile = min(wide_m, padded(m, 16)), min(wide_n, padded(n, 16))
            if tile in seen or tile[0] * tile[1] * ACCUMULATOR > soc.l0c:
                continue
            seen.add(tile)
            blocks = batch * ceil(m / tile[0]) * ceil(n / tile[1])
            for split in SPLITS:
                if split == 1 or (k / split >= MIN_SPLIT_K and blocks * split <= soc.aic):
                    yield *tile, split
