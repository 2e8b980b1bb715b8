"""Rule 69: a collective first copies its buffer inside the device."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from profiler.analysis.context import Context
from profiler.analysis.edits import Shorten
from profiler.analysis.groups import combined
from profiler.analysis.judge import Name, judged
from profiler.analysis.rules.collectives import exchanges, kinds, parts, spent
from profiler.findings import Finding

NAME = Name("staging-copy", 69, "communication")
SHARE = 0.1  # of a collective's time without waiting (catalogue)
ABSENT = 0.01  # of it: a like collective with less has none


def staging_copy(context: Context) -> Iterator[Finding]:
    """Fires when copies inside the device take SHARE of collectives' time (waiting apart) while others of the same kind and
    size do without. Silent when all of a kind and size have them: then the algorithm needs them.

    Gain: the collectives without these copies.
    """
    inside = exchanges(context)
    local = parts(context, inside, local=True)
    if not len(local.row) or "bytes" not in context.trace.comm:
        return
    time = np.zeros(len(inside.row), np.int64)
    union = spent(context, local)
    time[: len(union)] = union
    whole = np.maximum(inside.end - inside.start - context.collectives.waiting[inside.at], 1)
    size = np.log2(np.maximum(context.trace.comm["bytes"][inside.row], 1)).astype(np.int64)  # the same power of two
    kind = combined(np.unique(kinds(context, inside.row), return_inverse=True)[1], size)
    staged = inside.known & (time >= SHARE * whole)
    free = inside.known & (time <= ABSENT * whole)
    rows = np.flatnonzero(staged & np.isin(kind, kind[free]))
    if not len(rows):
        return
    facts = {
        "count": len(rows),
        "of": len(inside.row),
        "copy_ns": int(time[rows].sum()),
        "copy_share": float(time[rows].sum() / whole[rows].sum()),
        "name": kinds(context, inside.row[rows])[0],
        "median_bytes": int(np.median(context.trace.comm["bytes"][inside.row[rows]])),
    }
    yield judged(context, NAME, facts, (Shorten(inside.row[rows], time[rows]),), confidence="medium")
