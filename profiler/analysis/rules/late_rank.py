"""Rule 58: this rank waits in collectives, nearly always for the same other rank."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from profiler.analysis.context import Context
from profiler.analysis.edits import Meet
from profiler.analysis.judge import Name, at_most, judged
from profiler.analysis.rules.collectives import exchanges, exposed
from profiler.findings import Evidence, Finding
from profiler.trace import Array

NAME = Name("late-rank", 58, "communication")
SUMS = "late-rank-in-sums"
SHARE = 0.03  # of the window (catalogue)
LEAST = 2  # collectives in which it came last (catalogue)
DOMINANT = 0.5  # of all waiting; with less the late ones alternate (rule 67)
EVIDENCE_MOST = 3


def late_rank(context: Context) -> Iterator[Finding]:
    """Fires when waiting for one rank takes SHARE of the window and that rank came last in LEAST collectives. Silent when the
    late ones alternate: then rule 67 speaks.

    A peer's lag is read from this rank's own file (the end of the first wait for it), so the late one needs no profile. Gain:
    in the collectives that end with it no arrival holds this rank any more. Where only the sums of collectives are known
    (communication.json) and most of them is waiting, that is said, at most: they do not tell for whom.
    """
    late = latest(context)
    if late is None:
        yield from _in_sums(context)
        return
    _, rows, facts = late
    comm = context.trace.comm
    shown = rows[np.argsort(comm["start"][rows] - comm["end"][rows], kind="stable")[:EVIDENCE_MOST]]
    evidence = tuple(
        Evidence(context.trace.strings[int(comm["name"][r])], int(comm["start"][r]), int(comm["end"][r]), "comm", (int(r),))
        for r in shown.tolist()
    )
    made = judged(context, NAME, facts, (Meet(rows),), confidence="high", evidence=evidence)
    # The cure is another rank's: there is no "all ranks edited alike".
    gain = replace(made.gain, on_all_ns=None) if made.gain is not None else None
    yield replace(made, gain=gain, regardless=True)


def _in_sums(context: Context) -> Iterator[Finding]:
    """Waiting by communication.json, where no parts of collectives are known: all that is no transfer."""
    if context.collectives.known.any():
        return
    table = context.trace.meta.get("tables", {}).get("communication", {})
    columns = [table.get(n, []) for n in ("elapse", "transit")]
    rows = [(e, t) for e, t in zip(*columns, strict=False) if isinstance(e, int) and isinstance(t, int) and 0 <= t <= e]
    whole, moved = sum(e for e, _ in rows), sum(t for _, t in rows)
    waited = [e - t for e, t in rows if e - t > t]
    if len(waited) < LEAST or whole - moved < max(moved, SHARE * context.length):
        return
    facts = {
        "count": len(rows),
        "whole_ns": whole,
        "transfer_ns": moved,
        "waiting_ns": whole - moved,
        "waiting_share": (whole - moved) / whole,
        "longest_ns": max(waited),
    }
    yield at_most(context, NAME._replace(id=SUMS), facts, whole - moved)


def latest(context: Context) -> tuple[int, Array, dict[str, object]] | None:
    """(the rank this one waits for, comm rows it held, facts); None when rule 58 has nothing to say."""
    found, inside = context.collectives, exchanges(context)
    if not len(inside.at) or not len(found.pair_op):
        return None
    chosen = np.zeros(len(found.row), bool)
    chosen[inside.at] = True
    pairs = chosen[found.pair_op]
    ranks = np.unique(found.pair_peer[pairs])
    if not len(ranks):
        return None
    charged = np.array([int(found.pair_charged[pairs & (found.pair_peer == r)].sum()) for r in ranks])
    best = int(np.argmax(charged))
    rank, waited = int(ranks[best]), int(charged[best])
    last = inside.at[found.last[inside.at] == rank]
    if waited < SHARE * context.length or len(last) < LEAST or waited < DOMINANT * int(charged.sum()):
        return None
    mine = pairs & (found.pair_peer == rank)
    held = np.union1d(found.pair_op[mine & (found.pair_charged > 0)], last)
    split = exposed(context)
    stage = sum(b.stage for b in context.breakdown) or context.length
    present = context.trace.meta.get("ranks") or [context.trace.meta.get("rank", 0)]
    facts: dict[str, object] = {
        "rank": str(rank),
        "waiting_ns": waited,
        "waiting_share": waited / max(1, int(charged.sum())),
        "exposed_ns": split.waiting,
        "exposed_share": split.waiting / stage,
        "stage_ns": stage,
        "transfer_ns": split.transfer,
        "last": len(last),
        "count": len(inside.at),
        "lag_ns": int(found.pair_lag[mine].max(initial=0)),
        "present": ", ".join(str(r) for r in present),
        "captured": rank in present,
    }
    return rank, found.row[held], facts
