"""Links between ranks (view V16): what each carried and how fast, against links of its kind."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from npu.units import KIB, MIB
from profiler.analysis.groups import combined
from profiler.analysis.views.basis import Basis
from profiler.analysis.views.collectives import TRANSFERS

SIZE_CLASSES = (4 * KIB, 64 * KIB, MIB, 16 * MIB)  # upper borders; transfers of one class are compared


class Link(NamedTuple):
    """One pair of ranks over one kind of link and one size class (index into SIZE_CLASSES, len = larger). speed: bytes per
    ns = GB/s. ratio: speed against the median of its kind and class, 1.0 where it is alone.
    sums: of communication_matrix, whose rows add up transfers without counting them."""

    src: int
    dst: int
    link: str
    size_class: int
    transfers: int
    bytes: int
    time_ns: int
    median_bytes: int
    gbps: float
    ratio: float
    sums: bool = False


def links(basis: Basis) -> tuple[Link, ...]:
    """Transfers of the window between different ranks, the slowest link of each kind first."""
    comm, text = basis.trace.comm, basis.trace.strings
    if not comm or any(n not in comm for n in ("src", "dst", "bytes")):
        return ()
    moving = np.isin(comm["part"], TRANSFERS) & (comm["src"] != comm["dst"]) & (comm["src"] >= 0) & (comm["dst"] >= 0)
    inside = (comm["start"] >= basis.window[0]) & (comm["start"] < basis.window[1]) & (comm["bytes"] > 0)
    rows = np.flatnonzero(moving & inside & (comm["end"] > comm["start"]))
    if not len(rows):
        return ()
    kind = comm["link"][rows] if "link" in comm else np.full(len(rows), -1)
    size = np.searchsorted(SIZE_CLASSES, comm["bytes"][rows], side="right")
    number = combined(comm["src"][rows], comm["dst"][rows], kind, size)
    _, first, count = np.unique(number, return_index=True, return_counts=True)
    total, time = np.zeros(len(first), np.int64), np.zeros(len(first), np.int64)
    np.add.at(total, number, comm["bytes"][rows].astype(np.int64))
    np.add.at(time, number, (comm["end"] - comm["start"])[rows].astype(np.int64))
    speed = total / time
    peers = combined(kind[first], size[first])
    ratio = speed / np.array([np.median(speed[peers == p]) for p in peers])
    middle = [int(np.median(comm["bytes"][rows[number == n]])) for n in range(len(first))]
    order = np.lexsort((comm["dst"][rows[first]], comm["src"][rows[first]], ratio, size[first], kind[first]))
    return tuple(
        Link(
            int(comm["src"][rows[first[i]]]),
            int(comm["dst"][rows[first[i]]]),
            text[int(kind[first[i]])],
            int(size[first[i]]),
            int(count[i]),
            int(total[i]),
            int(time[i]),
            middle[i],
            float(speed[i]),
            float(ratio[i]),
        )
        for i in order.tolist()
    )
