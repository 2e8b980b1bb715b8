"""Rule 60: transfers of collectives that no computation covers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from profiler.analysis.context import Context
from profiler.analysis.edits import Shorten
from profiler.analysis.judge import Name, bounded, judged
from profiler.analysis.rules.collectives import Exposed, exchanges, exposed, launched
from profiler.analysis.rules.in_sums import of_steps, steps_alone
from profiler.analysis.statistics import StepSums
from profiler.findings import Finding

NAME = Name("exposed-communication", 60, "communication")
WHOLE = "exposed-communication-unsplit"
SUMS = "exposed-communication-sums"
SHARE = 0.03  # of the window (catalogue)
SHARE_OF_SUMS = 0.10  # of the steps, where waiting for other ranks cannot be told from transfer


def exposed_communication(context: Context) -> Iterator[Finding]:
    """Fires when transfers that no kernel covers take SHARE of the window. Silent when waiting for other ranks is the larger
    part of what is uncovered (rules 58 and 67). Without the parts of collectives their whole uncovered time is said, at most;
    so it is, from SHARE_OF_SUMS on, with the sums of steps only.

    Gain: transfers begin as soon as their data is ready, so that they hide behind kernels as far as there are enough of these.
    """
    sums = steps_alone(context)
    if sums is not None:
        yield from _from_sums(sums)
        return
    split = exposed(context)
    time = split.transfer if split.known else split.whole
    if time < SHARE * context.length or split.waiting > split.transfer:
        return
    inside = exchanges(context)
    computing = sum(b.computing for b in context.breakdown)
    overlapped = sum(b.overlapped for b in context.breakdown)
    whole = sum(b.communication for b in context.breakdown)
    uncovered = inside.transfer if split.known else inside.uncovered
    room = min(1.0, max(0, computing - overlapped) / max(1, int(uncovered.sum())))
    sizes = context.trace.comm.get("bytes")
    known = sizes[inside.row][sizes[inside.row] > 0] if sizes is not None else np.zeros(0, np.int64)
    facts = {
        "count": len(inside.row),
        "exposed_ns": time,
        "exposed_share": time / context.length,
        "overlap_share": overlapped / max(1, whole),
        "bucket_bytes": int(np.median(known)) if len(known) else 0,
        "waiting_ns": split.waiting,
    }
    if not launched(context, inside):
        yield bounded(context, _name(split), facts, int(time * room))
        return
    edits = (Shorten(inside.row, (uncovered * room).astype(np.int64)),)
    yield judged(context, _name(split), facts, edits, confidence="medium" if split.known else "low", at_most=True)


def _from_sums(sums: StepSums) -> Iterator[Finding]:
    """Receives of a pipeline are left to rule 68."""
    waited = max(0, sums.exposed - sums.bubble)
    if waited < SHARE_OF_SUMS * sums.whole:
        return
    hidden = min(waited, max(0, sums.computing - sums.overlapped))
    facts = {"overlap_share": sums.overlapped / max(1, sums.overlapped + sums.exposed)}
    yield of_steps(NAME._replace(id=SUMS), sums, waited, hidden, facts)


def _name(split: Exposed) -> Name:
    return NAME if split.known else NAME._replace(id=WHOLE)
