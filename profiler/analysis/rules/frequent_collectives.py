"""Rule 62: many small collectives, each of which pays its fixed cost."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from npu.units import MIB
from profiler.analysis.context import Context
from profiler.analysis.edits import Shorten
from profiler.analysis.judge import Name, judged
from profiler.analysis.rules.collectives import P2P, Exchanges, computing, exchanges, kinds, named
from profiler.analysis.rules.in_sums import often
from profiler.analysis.statistics import call_sums
from profiler.findings import Finding
from profiler.trace import Array

NAME = Name("frequent-collectives", 62, "communication")
LAYERS = "frequent-collectives-layers"
COLLECTIVE = ("HcclAll", "HcclReduce", "HcclBroadcast", "HcclScatter", "HcclSend", "HcclRecv", "hcom_")  # beginnings of calls
PER_STEP = 20  # collectives (catalogue)
SMALL = MIB  # bytes, mean (catalogue)
FIXED = 0.5  # of the transfer time (catalogue)
BUCKET = 25 * MIB  # a usual bucket of gradients (default of PyTorch's data parallel wrapper)
WIDE = 4  # times as large: then sizes tell the speed
LINK_GBPS = 20.0  # of a usual link (spec of hccl: 22 to 28 nominal, 19 to 26 measured)
BETWEEN = 0.8  # of neighbours with a kernel between them: layers of tensor parallelism, which cannot be merged


def frequent_collectives(context: Context) -> Iterator[Finding]:
    """Fires for PER_STEP collectives a step of less than SMALL bytes on average, whose fixed cost is FIXED of their time.

    Fixed cost: what is left of a collective without waiting when its bytes go at the speed the largest and smallest ones tell, of
    collectives of about one size at that of a usual link. Gain: as many as fill a
    bucket of 25 MiB pay it once. Where kernels stand between nearly all of them (tensor parallelism, batch normalisation across
    ranks) they cannot be merged: then a remark about fusing them with the kernels, without a gain. With sums of calls only: what
    the host spends in such calls, at most, when they come often and take much of its time.
    """
    if not context.trace.api and not context.trace.comm:
        sums = [s for s in call_sums(context.trace) if s.level == "communication" or s.name.startswith(COLLECTIVE)]
        yield from often(context, NAME._replace(id="frequent-collectives-sums"), sums)
        return
    found = exchanges(context)
    sizes = context.trace.comm.get("bytes")
    if sizes is None or not len(found.row):
        return
    found = found.only(~named(context, found.row, P2P) & (sizes[found.row] > 0))
    size, count = sizes[found.row].astype(np.int64), len(found.row)
    if count < PER_STEP * context.count or size.mean() >= SMALL:
        return
    busy = _busy(context, found)
    fixed = _fixed(size, busy)
    if fixed.sum() < FIXED * busy.sum():
        return
    names, counts = np.unique(kinds(context, found.row), return_counts=True)
    facts = {
        "count": count,
        "per_step": round(count / context.count, 1),
        "name": str(names[int(np.argmax(counts))]),
        "mean_bytes": int(size.mean()),
        "total_bytes": int(size.sum()),
        "fixed_ns": int(fixed.sum()),
        "fixed_share": float(fixed.sum() / max(1, busy.sum())),
    }
    if _between(context, found) >= BETWEEN:
        edits = (Shorten(found.row, np.minimum(fixed, found.uncovered).astype(np.int64)),)
        yield judged(context, NAME._replace(id=LAYERS), facts, edits, confidence="low", at_most=True)
        return
    bucket = np.cumsum(size) // BUCKET
    later = np.ones(count, bool)
    later[np.unique(bucket, return_index=True)[1]] = False
    edits = (Shorten(found.row[later], fixed[later].astype(np.int64)),)
    yield judged(context, NAME, facts, edits, confidence="medium", method="model", at_most=True)


def _fixed(size: Array, busy: Array) -> Array:
    """What each collective pays whatever it carries, ns."""
    sizes, place = np.unique(size, return_inverse=True)
    low, high = (float(np.median(busy[place == n])) for n in (0, len(sizes) - 1))
    wide = sizes[-1] >= WIDE * sizes[0]
    per_byte = max(0.0, (high - low) / float(sizes[-1] - sizes[0])) if wide else 1 / LINK_GBPS
    fixed: Array = np.maximum(busy - size * per_byte, 0)
    return fixed


def _busy(context: Context, found: Exchanges) -> Array:
    """Time of each collective without waiting for other ranks, ns."""
    whole = context.collectives
    waiting = np.where(found.known, whole.waiting[found.at], 0)
    busy: Array = np.maximum(found.end - found.start - waiting, 1)
    return busy


def _between(context: Context, found: Exchanges) -> float:
    """Share of neighbouring collectives with a kernel between the end of the one and the start of the next."""
    device = context.trace.comm["device"][found.row]
    seen = total = 0
    for number in np.unique(device).tolist():
        mine = np.flatnonzero(device == number)
        spans = computing(context, number)
        begin = np.searchsorted(spans.starts, found.end[mine][:-1], side="left")
        end = np.searchsorted(spans.starts, found.start[mine][1:], side="left")
        seen, total = seen + int((end > begin).sum()), total + len(mine) - 1
    return seen / max(1, total)
