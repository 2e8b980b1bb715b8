"""Rule 56: data that would fit the L2 cache is fetched from memory again."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from npu.cost import chip as cost_chip
from npu.cost.vector import L2_PEAK_TBPS
from npu.units import MIB
from profiler.analysis.calls import column
from profiler.analysis.context import Context
from profiler.analysis.edits import SetTo
from profiler.analysis.judge import Name
from profiler.analysis.rules.kernels import kernels, next_on_stream, said_of
from profiler.analysis.rules.operators import chip_known, described, share, texts
from profiler.analysis.views.roofline import ratio
from profiler.findings import Finding
from profiler.trace import Array

NAME = Name("l2-misses", 56, "operator")
LOW = 0.5  # hit rate
SHARE = 0.05  # of the computing time
SMALL = MIB  # bytes; what is smaller is no matter of bandwidth
BUSY = 0.7  # of the kernel's time a pipe to memory works
HITS = ("write_cache_hit", "r0_read_cache_hit", "r1_read_cache_hit")
MISSES = ("write_cache_miss_allocate", "r0_read_cache_miss_allocate", "r1_read_cache_miss_allocate")


def l2_misses(context: Context) -> Iterator[Finding]:
    """Fires when kernels that hit the L2 cache under half of the time although inputs and outputs fit it take 5 % of the
    computing time. Gain: the missed bytes at the cache's speed. Only kernels that could hit count: products and convolutions,
    which read their operands several times, and kernels that read what the one before them wrote; what is read for the first time
    must miss. Silent where no pipe to memory was busy 70 % of the time, if that was measured."""
    if "op_type" not in context.trace.task or not chip_known(context):
        return
    rows = kernels(context)
    hit = hit_rate(context, rows)
    if np.isnan(hit).all():
        return
    found = context.views.roofline
    size, cube = np.zeros(len(context.trace.task)), np.zeros(len(context.trace.task), bool)
    size[found.row], cube[found.row] = found.bytes, found.cube
    moved = size[rows]
    pipe = np.fmax(ratio(context.trace, "mte2", rows), ratio(context.trace, "mte3", rows))
    chosen = (hit < LOW) & (moved >= SMALL) & (moved < context.chip.l2) & (np.isnan(pipe) | (pipe >= BUSY))
    chosen[chosen] = cube[rows[chosen]] | _fed(context, rows, np.flatnonzero(chosen))
    mine = rows[chosen]
    if not len(mine) or share(context, mine) < SHARE:
        return
    duration = context.basis.durations(mine)
    cache_gbps = L2_PEAK_TBPS * 1000 * cost_chip.core_ratio(context.chip)
    saved = moved[chosen] * (1 - hit[chosen]) * (1 / context.chip.memory_gbps - 1 / cache_gbps)
    shorter = np.maximum(duration - np.maximum(saved, 0), moved[chosen] / cache_gbps)
    facts = described(context, mine) | {
        "hit_share": float(np.average(hit[chosen], weights=duration)),
        "largest_bytes": int(moved[chosen].max()),
        "cache_bytes": context.chip.l2,
    }
    edit = SetTo(mine, np.minimum(shorter, duration).astype(np.int64))
    yield said_of(context, NAME, facts, mine, (edit,), "medium", "model", at_most=True)


def hit_rate(context: Context, rows: Array) -> Array:
    """Hits over accesses of each kernel, 0..1, by the L2Cache counters, else by the table l2_cache; NaN where not measured."""
    hits, misses = (_summed(context, rows, names) for names in (HITS, MISSES))
    if not np.isnan(hits).all():
        rate: Array = np.where(hits + misses > 0, hits / np.maximum(hits + misses, 1), np.nan)
        return rate
    return _of_table(context, rows)


def _summed(context: Context, rows: Array, names: tuple[str, ...]) -> Array:
    task = context.trace.task
    found = [task[f"{core}{n}"][rows] for n in names for core in ("", "aic_", "aiv_") if f"{core}{n}" in task]
    if not found:
        return np.full(len(rows), np.nan)
    known = ~np.all(np.isnan(found), axis=0)
    total: Array = np.where(known, np.nansum(found, axis=0), np.nan)
    return total


def _of_table(context: Context, rows: Array) -> Array:
    """Joined by stream, task id and name: ids alone come again."""
    table = context.trace.meta.get("tables", {}).get("l2_cache", {})
    if not all(n in table for n in ("stream", "task_id", "hit_rate", "name")) or "task_id" not in context.trace.task:
        return np.full(len(rows), np.nan)
    keys = zip(table["stream"], table["task_id"], table["name"], strict=True)
    rates = {key: rate for key, rate in zip(keys, table["hit_rate"], strict=True) if isinstance(rate, int | float)}
    stream, number = (column(context.trace, "task", n)[rows].tolist() for n in ("stream", "task_id"))
    wanted = zip(stream, number, texts(context, rows, "name"), strict=True)
    return np.array([rates.get(key, np.nan) for key in wanted], float)


def _fed(context: Context, rows: Array, at: Array) -> Array:
    """Mask over positions in rows: the kernel before it on the stream wrote one of its inputs, by shape and type."""
    before = next_on_stream(context, rows, -1)[at]
    written = zip(*(texts(context, rows[before], n) for n in ("out_shapes", "out_dtypes")), strict=True)
    read = zip(*(texts(context, rows[at], n) for n in ("in_shapes", "in_dtypes")), strict=True)
    fed = [
        bool(out[0]) and out in zip(s.split(";"), t.split(";"), strict=False) for out, (s, t) in zip(written, read, strict=True)
    ]
    return np.array(fed, bool) & (before >= 0)
