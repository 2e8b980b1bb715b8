"""Rule 70: transfers over the network had to be repeated."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from npu.units import S
from profiler.analysis.context import Context
from profiler.analysis.edits import Shorten
from profiler.analysis.judge import Name, at_most, judged
from profiler.analysis.rules.collectives import COUNTER, exchanges, parts, spent, text_of
from profiler.findings import Finding

NAME = Name("retransmission", 70, "communication")
COUNTED = "retransmission-counted"
SUMS = Name("retransmission-sums", 70, "communication")
LONG_SUM = 4 * S  # ns; of all transfers of one collective over RDMA (catalogue)
LONG = S  # ns; of one transfer over RDMA (catalogue): a retry timeout is 4.096 us * 2^20 = 4.3 s by default
ERRORS = re.compile(r"(roce|rdma|nic).*(err|retry|retrans|out_of_order|drop|discard)", re.IGNORECASE)


def retransmission(context: Context) -> Iterator[Finding]:
    """Fires when a transfer over RDMA takes longer than a second, or where only sums of collectives are known, one has 4 seconds
    of them, or counters of the network port show errors. Silent for the first collective of the profile, which sets up
    connections.

    Gain: these transfers take the median of the others. Counters alone have no gain.
    """
    found = list(_long(context))
    yield from found or _in_sums(context)
    counter = context.trace.counter
    if not counter:
        return
    ids = context.trace.strings.matching(lambda text: bool(ERRORS.search(text)))
    inside = np.isin(counter["name"], ids) & (counter["time"] >= context.window[0]) & (counter["time"] <= context.window[1])
    rows = np.flatnonzero(inside & (counter["value"] > 0))
    if len(rows):
        top = rows[int(np.argmax(counter["value"][rows]))]
        facts = {
            "counter": context.trace.strings[int(counter["name"][top])],
            "value": float(counter["value"][top]),
            "count": len(rows),
        }
        yield Finding(COUNTED, NAME.number, NAME.layer, "warning", facts, None)


def _long(context: Context) -> Iterator[Finding]:
    inside = exchanges(context)
    moved = parts(context, inside)
    if not len(moved.row):
        return
    comm = context.trace.comm
    time = (comm["end"] - comm["start"])[moved.row].astype(np.int64)
    remote = text_of(context, "transport", moved.row) == "RDMA"
    first = context.collectives.row[np.argmin(comm["start"][context.collectives.row])]
    long = remote & (time > LONG) & (inside.row[moved.at] != first)
    others = time[remote & ~long]
    if not long.any():
        return
    usual = int(np.median(others)) if len(others) else 0
    ends = comm["end"][moved.row] - np.where(long, np.maximum(time - usual, 0), 0)
    saved = spent(context, moved) - spent(context, moved, ends)
    rows = np.flatnonzero(saved > 0)
    peers = sorted({int(r) for r in comm["dst"][moved.row[long]]})
    facts = {
        "count": int(long.sum()),
        "longest_ns": int(time[long].max()),
        "usual_ns": usual,
        "peers": ", ".join(str(r) for r in peers[:8]),
    }
    edits = (Shorten(inside.row[rows], saved[rows]),)
    yield judged(context, NAME, facts, edits, confidence="medium", at_most=not len(others))


def _in_sums(context: Context) -> Iterator[Finding]:
    """Collectives of communication.json (or of analysis.db) whose transfers over RDMA take LONG_SUM."""
    table = context.trace.meta.get("tables", {}).get("communication_bandwidth", {})
    columns = [table.get(n) for n in ("transport", "time", "name", "bytes")]
    if any(c is None for c in columns):
        return
    every = zip(*(c for c in columns if c is not None), strict=False)
    rows = [(str(n), int(ns), int(b or 0)) for t, ns, n, b in every if t == "RDMA" and isinstance(ns, int)]
    long = [row for row in rows if row[1] >= LONG_SUM]
    if not long or (long == rows[:1] and len(rows) > 1):  # the first one sets up connections
        return
    others = sorted(row[1] for row in rows if row[1] < LONG_SUM)
    usual = others[len(others) // 2] if others else 0
    name, longest, size = max(long, key=lambda row: row[1])
    facts = {
        "count": len(long),
        "name": COUNTER.sub("", name) or name,
        "longest_ns": longest,
        "usual_ns": usual,
        "moved_bytes": size,
    }
    yield at_most(context, SUMS, facts, sum(row[1] - usual for row in long))
