"""Rule 64: transfers between ranks go in packets too small for their link."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from npu.units import MIB
from profiler.analysis.context import Context
from profiler.analysis.edits import Shorten
from profiler.analysis.judge import REPEAT_MIN, Name, judged
from profiler.analysis.rules.collectives import Parts, exchanges, parts, spent, text_of
from profiler.findings import Finding

NAME = Name("small-packets", 64, "communication")
ENOUGH = {"SDMA": 16 * MIB, "RDMA": MIB}  # bytes from which a packet fills its link (catalogue)
SHARE = 0.2  # of the transfer time (catalogue)
SLOW = 0.5  # of the link's speed (catalogue)


def small_packets(context: Context) -> Iterator[Finding]:
    """Fires when over SHARE of the transfer time goes in SDMA packets below 16 MiB or RDMA packets below 1 MiB at less than
    SLOW of the link's speed, which is the best one seen over packets that are large enough. Silent without such (no reference),
    and when a step moves too little to fill one packet (small by design, as in decoding).

    Gain: these packets move at the link's speed.
    """
    inside = exchanges(context)
    moved = parts(context, inside)
    comm = context.trace.comm
    if not len(moved.row) or "bytes" not in comm:
        return
    size = comm["bytes"][moved.row].astype(np.int64)
    time = np.maximum(comm["end"][moved.row] - comm["start"][moved.row], 1).astype(np.int64)
    transport = text_of(context, "transport", moved.row)
    ends = comm["end"][moved.row].astype(np.int64)
    slow = np.zeros(len(size), bool)
    for kind, enough in ENOUGH.items():
        mine = (transport == kind) & (size > 0)
        large = mine & (size >= enough)
        if not large.any() or size[mine].sum() < enough * context.count:
            continue
        speed = float((size[large] / time[large]).max())
        here = mine & (size < enough) & (size / time < SLOW * speed)
        ends[here] -= (time[here] - size[here] / speed).astype(np.int64)
        slow |= here
    if slow.sum() < REPEAT_MIN or time[slow].sum() <= SHARE * time.sum():
        return
    chosen = Parts(moved.row, moved.at)
    saved = spent(context, chosen) - spent(context, chosen, ends)
    rows = np.flatnonzero(saved > 0)
    facts = {
        "count": int(slow.sum()),
        "median_bytes": int(np.median(size[slow])),
        "packet_ns": int(time[slow].sum()),
        "time_share": float(time[slow].sum() / time.sum()),
        "gbps": float(size[slow].sum() / time[slow].sum()),
        "transport": str(max(set(transport[slow].tolist()), key=transport[slow].tolist().count)),
    }
    edits = (Shorten(inside.row[rows], saved[rows]),)
    yield judged(context, NAME, facts, edits, confidence="medium", method="model", at_most=True)
