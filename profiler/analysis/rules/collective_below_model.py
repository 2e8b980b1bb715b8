"""Rule 66: collectives take longer than their algorithm needs at the links' speed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from npu.units import MIB
from profiler.analysis.bench import Reference, expected
from profiler.analysis.context import Context
from profiler.analysis.edits import Shorten
from profiler.analysis.groups import combined
from profiler.analysis.judge import REPEAT_MIN, Name, judged
from profiler.analysis.rules.collectives import exchanges, kinds, parts, spent, text_of
from profiler.findings import Finding
from profiler.trace import Array

NAME = Name("collective-below-model", 66, "communication")
SLOW = 0.6  # of the bandwidth of the formula (catalogue)
LARGE = MIB  # bytes of a collective; smaller ones tell latency
# Shares of n/p bytes that one port must move, for p ranks (Hockney, bandwidth term of ring, halving and mesh alike).
VOLUME: dict[str, Callable[[int], float]] = {
    "allreduce": lambda p: 2 * (p - 1) / p,
    "reducescatter": lambda p: (p - 1) / p,
    "allgather": lambda p: (p - 1) / p,
    "alltoall": lambda p: (p - 1) / p,
    "broadcast": lambda p: 1.0,
}


def _busiest(src: Array, dst: Array, size: Array) -> int:
    """Most bytes that one pair of ranks moved."""
    pair = combined(src, dst)
    return int(np.bincount(pair, size).max(initial=0))


def collective_below_model(context: Context) -> Iterator[Finding]:
    """Fires when collectives of 1 MiB and more transfer at less than SLOW of what the formula of their kind gives with the best
    link speed seen in the profile: t = volume(kind, p) * n / (links used at once * speed). Where hccl_test was run (--bench), its
    times count instead. Silent without recorded transfers.

    Gain: they take the time of the formula, or of the benchmark.
    """
    inside = exchanges(context)
    moved = parts(context, inside)
    comm = context.trace.comm
    if not len(moved.row) or "bytes" not in comm:
        return
    part_size = comm["bytes"][moved.row].astype(np.int64)
    part_time = np.maximum(comm["end"][moved.row] - comm["start"][moved.row], 1)
    link = text_of(context, "link", moved.row)
    best = {k: float((part_size / part_time)[link == k].max()) for k in set(link.tolist())}
    took = np.zeros(len(inside.row), np.int64)
    union = spent(context, moved)
    took[: len(union)] = union
    size = comm["bytes"][inside.row].astype(np.int64)
    floor, ranks = np.zeros(len(inside.row)), np.zeros(len(inside.row), np.int64)
    src, dst = comm["src"][moved.row], comm["dst"][moved.row]
    bench: Mapping[str, Reference] = context.trace.meta.get("bench") or {}
    measured = np.zeros(len(inside.row), bool)
    for at, kind in enumerate(kinds(context, inside.row)):
        name = next((k for k in VOLUME if k in kind.lower().replace("_", "")), "")
        mine = moved.at == at
        if not name or size[at] < LARGE or not mine.any():
            continue
        if name in bench:
            ranks[at] = len(set(src[mine].tolist()) | set(dst[mine].tolist()))
            floor[at], measured[at] = expected(bench[name], int(size[at])), True
            continue
        peers = set(src[mine].tolist()) | set(dst[mine].tolist())
        ranks[at] = len(peers)
        links = len({*zip(src[mine].tolist(), dst[mine].tolist(), strict=True)})
        sent = VOLUME[name](len(peers)) * size[at]
        speed = max(best[k] for k in set(link[mine].tolist()))
        # What really moved, where it is more: the formula's bytes are those of the best algorithm.
        floor[at] = max(sent / (links * speed), _busiest(src[mine], dst[mine], part_size[mine]) / speed)
    slow = np.flatnonzero((floor > 0) & (floor < SLOW * took))
    if len(slow) < REPEAT_MIN:
        return
    names = [kinds(context, inside.row[slow])[int(np.argmax(took[slow] - floor[slow]))]]
    algorithm = text_of(context, "algorithm", inside.row[slow])[0]
    known = bool(measured[slow].any())
    slow = slow[measured[slow] == known]  # what was measured is the better word
    facts = {
        **({"case": "bench"} if known else {}),
        "count": len(slow),
        "name": names[0],
        "algorithm": algorithm or "-",
        "ranks": int(np.median(ranks[slow])),
        "size_bytes": int(np.median(size[slow])),
        "took_ns": int(took[slow].sum()),
        "formula_ns": int(floor[slow].sum()),
        "speed_share": float(floor[slow].sum() / took[slow].sum()),
        "gbps": max(best.values()),
    }
    edits = (Shorten(inside.row[slow], (took[slow] - floor[slow]).astype(np.int64)),)
    yield judged(context, NAME, facts, edits, confidence="medium" if known else "low", method="model", at_most=True)
