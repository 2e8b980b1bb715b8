"""Rule 14: casts take time, or a type goes and comes back."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from profiler.analysis.calls import column
from profiler.analysis.context import Context
from profiler.analysis.judge import REPEAT_MIN, Name
from profiler.analysis.rules import in_sums
from profiler.analysis.rules.kernels import computing, kernels, next_on_stream, of_type, removal, said_of
from profiler.findings import Finding
from profiler.trace import Array

NAME = Name("cast-storm", 14, "graph")
SHARE = 0.03  # of the computing time
BACK_WITHIN = 5  # kernels
OPTIMIZER = ("Apply", "Foreach", "Adam", "Sgd", "Lamb", "FusedAdam")


def cast_storm(context: Context) -> Iterator[Finding]:
    """Fires for three or more casts that a cast back follows within five kernels (gain: both go), or for casts that take 3 % of
    the computing time (gain: at most all of them). Casts next to an optimizer's kernels keep its master weights and do not
    count, nor do casts on the AI CPU, whose place is the matter. With op_statistic alone: their time, at most."""
    task = context.trace.task
    if "op_type" not in task:
        yield from in_sums.kernels(context, NAME._replace(id="cast-storm-sums"), "Cast")
        return
    rows = kernels(context)
    cast = of_type(context, rows, lambda text: text == "Cast") & ~_of_optimizer(context, rows)
    cast &= ~context.trace.tasks_of("aicpu")[rows]
    trips = _round_trips(context, rows, cast)
    chosen = rows[cast]
    duration = context.basis.durations(chosen)
    share = int(duration.sum()) / computing(context)
    pairs = int(trips.sum()) // 2
    if len(chosen) < REPEAT_MIN or (share < SHARE and pairs < REPEAT_MIN):
        return
    removed = rows[trips] if pairs >= REPEAT_MIN else chosen
    source, target = (
        context.trace.strings[int(column(context.trace, "task", n)[removed[0]])] for n in ("in_dtypes", "out_dtypes")
    )
    facts = {
        "count": len(chosen),
        "per_step": round(len(chosen) / context.count, 1),
        "total_ns": int(duration.sum()),
        "computing_share": share,
        "pairs": pairs,
        "source": source or "-",
        "target": target or "-",
    }
    yield said_of(context, NAME, facts, removed, (removal(context, removed),), "medium", at_most=pairs < REPEAT_MIN)


def _of_optimizer(context: Context, rows: Array) -> Array:
    """Mask: the kernel before or after is an optimizer's."""
    mine = of_type(context, rows, lambda text: text.startswith(OPTIMIZER))
    near = np.zeros(len(rows), bool)
    if not mine.any():
        return near
    for step in (-1, 1):
        other = next_on_stream(context, rows, step)
        near |= (other >= 0) & mine[np.maximum(other, 0)]
    return near


def _round_trips(context: Context, rows: Array, cast: Array) -> Array:
    """Mask: casts A -> B and the B -> A of the same shape that follows within BACK_WITHIN kernels on the stream, both ends."""
    places = np.flatnonzero(cast)
    names = ("in_dtypes", "out_dtypes", "in_shapes")
    source, target, shape = (column(context.trace, "task", n)[rows[places]] for n in names)
    lane = context.basis.lanes[rows[places]]
    paired = np.zeros(len(rows), bool)
    for step in range(1, BACK_WITHIN + 1):
        first = np.flatnonzero(cast[step:][places[: np.searchsorted(places, len(rows) - step)]])  # a cast stands there as well
        at = np.searchsorted(places, places[first] + step)
        good = (lane[at] == lane[first]) & (target[first] >= 0) & (source[at] == target[first])
        good &= (target[at] == source[first]) & (shape[at] == shape[first])
        for begin in places[first[good]].tolist():  # one cast is part of one round trip
            if not paired[begin] and not paired[begin + step]:
                paired[begin] = paired[begin + step] = True
    return paired
