"""Rule 61: one link between two ranks is slower than the others of its kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from npu.units import MIB
from profiler.analysis.context import Context
from profiler.analysis.edits import Shorten
from profiler.analysis.judge import REPEAT_MIN, Name, at_most, judged
from profiler.analysis.rules.collectives import Parts, exchanges, parts, spent
from profiler.analysis.views.links import SIZE_CLASSES, Link
from profiler.findings import Finding

NAME = Name("slow-link", 61, "communication")
SLOW = 0.7  # of the median speed of the kind and size (catalogue)
OTHERS = 2  # further links of the kind, at least, and more normal ones than slow ones
ENOUGH = 32 * MIB  # in sums: so much tells a speed, for communication_matrix does not count the transfers
LARGE = SIZE_CLASSES.index(MIB) + 1  # first size class of 1 MiB and more; smaller transfers tell latency, not speed
SHARED = 0.5  # of the slow transfers' time beside others of the pair: then the link is shared, not slow


class Slow(NamedTuple):
    """A pair of ranks over one kind of link. gbps and usual: its speed and the median of the others; lost: what it costs, ns."""

    src: int
    dst: int
    link: str
    size_class: int
    transfers: int
    gbps: float
    usual: float
    lost: int
    peers: int


def slow_links(links: Sequence[Link]) -> list[Slow]:
    """Pairs below SLOW of their kind over REPEAT_MIN transfers of 1 MiB or more (sums: ENOUGH bytes), where the others are
    normal; by what they cost."""
    found = []
    for key in {(k.link, k.size_class) for k in links if k.size_class >= LARGE}:
        alike = [k for k in links if (k.link, k.size_class) == key]
        usual = float(np.median([k.gbps for k in alike]))
        slow = [k for k in alike if k.gbps < SLOW * usual]
        if len(alike) - len(slow) < max(OTHERS, len(slow) + 1):
            continue
        found += [
            Slow(
                *(k.src, k.dst, k.link, k.size_class, k.transfers, k.gbps, usual),
                lost=int(k.time_ns - k.bytes / usual),
                peers=len(alike) - 1,
            )
            for k in slow
            if k.transfers >= REPEAT_MIN or (k.sums and k.bytes >= ENOUGH)
        ]
    return sorted(found, key=lambda s: (-s.lost, s.src, s.dst))


def facts_of(slow: Slow) -> dict[str, object]:
    return {
        "src": str(slow.src),
        "dst": str(slow.dst),
        "link": slow.link or "-",
        "transfers": slow.transfers,
        "gbps": slow.gbps,
        "usual": slow.usual,
        "speed_share": slow.gbps / slow.usual,
        "peers": slow.peers,
        "lost_ns": slow.lost,
    }


def slow_link(context: Context) -> Iterator[Finding]:
    """Fires for a pair of ranks whose transfers of 1 MiB and more run below SLOW of the median of their kind and size, REPEAT_MIN
    times, while the other links of the kind are normal. Only transfers count: waiting for a late rank is none.

    Gain: the pair's transfers run at the median. From communication_matrix alone: what the sums say, at most.
    """
    seen = slow_links(context.views.links)
    for pair in {(s.src, s.dst): None for s in seen}:
        mine = [s for s in seen if (s.src, s.dst) == pair]
        inside = exchanges(context)
        chosen = _of_pair(context, parts(context, inside), mine)
        if not len(chosen.row) or _shared(context, chosen) > SHARED:
            continue
        comm = context.trace.comm
        start, size = comm["start"][chosen.row].astype(np.int64), comm["bytes"][chosen.row]
        classes = np.searchsorted(SIZE_CLASSES, size, side="right")
        usual = np.array([next(s.usual for s in mine if s.size_class == c) for c in classes.tolist()])
        cured = np.minimum(comm["end"][chosen.row], start + (size / usual).astype(np.int64))
        saved = spent(context, chosen) - spent(context, chosen, cured)
        rows = np.flatnonzero(saved > 0)
        edits = (Shorten(inside.row[rows], saved[rows]),)
        yield judged(context, NAME, facts_of(mine[0]), edits, confidence="medium", at_most=True)
    if not context.views.links:
        yield from _from_sums(context)


def _of_pair(context: Context, found: Parts, slow: Sequence[Slow]) -> Parts:
    comm = context.trace.comm
    size = np.searchsorted(SIZE_CLASSES, comm["bytes"][found.row], side="right")
    mine = (comm["src"][found.row] == slow[0].src) & (comm["dst"][found.row] == slow[0].dst)
    mine &= np.isin(size, [s.size_class for s in slow])
    return Parts(found.row[mine], found.at[mine])


def _shared(context: Context, chosen: Parts) -> float:
    """Share of these transfers' time in which another of them runs."""
    comm = context.trace.comm
    order = np.argsort(comm["start"][chosen.row], kind="stable")
    start, end = (comm[n][chosen.row][order].astype(np.int64) for n in ("start", "end"))
    reach = np.maximum.accumulate(end)
    overlap = np.clip(np.minimum(reach[:-1], end[1:]) - start[1:], 0, None).sum()
    return float(2 * overlap / max(1, int((end - start).sum())))


def links_in_sums(tables: dict[str, dict[str, list[object]]]) -> list[Link]:
    """Links of communication_matrix: one per pair and transport. A row adds up an operator, so that its size class is its own."""
    table = tables.get("communication_matrix", {})
    sums: dict[tuple[int, int, str, int], list[int]] = {}
    columns = [table.get(n, []) for n in ("src", "dst", "transport", "bytes", "time")]
    columns.append(table.get("name") or [""] * len(columns[0]))
    single = any(not str(n).startswith("total") for n in columns[5])  # a total adds up the other rows once more
    for src, dst, transport, size, time, name in zip(*columns, strict=False):
        if single and str(name).startswith("total"):
            continue
        if not (isinstance(src, int) and isinstance(dst, int) and isinstance(size, int) and isinstance(time, int)):
            continue
        if src == dst or time <= 0 or size <= 0:
            continue
        kind = int(np.searchsorted(SIZE_CLASSES, size, side="right"))
        total = sums.setdefault((src, dst, str(transport), kind), [0, 0, 0])
        for place, value in enumerate((1, size, time)):
            total[place] += value
    return [
        Link(src, dst, transport, kind, count, size, time, size // count, size / time, 1.0, sums=True)
        for (src, dst, transport, kind), (count, size, time) in sums.items()
    ]


def _from_sums(context: Context) -> Iterator[Finding]:
    for slow in slow_links(links_in_sums(context.trace.meta.get("tables", {})))[:1]:
        yield at_most(context, NAME, facts_of(slow), slow.lost)
