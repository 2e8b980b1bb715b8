"""Rule 8, second part: tensors that a layout conversion pads, so that the kernels behind it work on elements nobody asked for."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import numpy as np

from profiler.analysis.calls import column
from profiler.analysis.context import Context
from profiler.analysis.edits import SetTo
from profiler.analysis.judge import REPEAT_MIN, Name
from profiler.analysis.rules.kernels import kernels, matters, most_frequent, named, next_on_stream, of_type, said_of
from profiler.analysis.shapes import shapes
from profiler.findings import Finding

NAME = Name("padded-layout", 8, "graph")
PADDED = 1.25  # elements after the conversion by those before
SHARE = 0.03  # of the computing time, in the kernels that take the padded tensor


def padded_layout(context: Context) -> Iterator[Finding]:
    """The finding on the kernels that take, as their first input, what the TransData right before them on the stream padded.
    Gain: their time by the share of real elements, at most: a cube works on whole blocks of 16."""
    task = context.trace.task
    if not {"op_type", "in_shapes", "out_shapes"} <= set(task):
        return
    rows = kernels(context)
    into, out = (column(context.trace, "task", n)[rows] for n in ("in_shapes", "out_shapes"))
    after = next_on_stream(context, rows)
    places = np.flatnonzero(of_type(context, rows, named("TransData")) & (after >= 0) & (into >= 0) & (out >= 0))
    known: dict[tuple[int, int, int], float] = {}
    growth = np.array(
        [_growth(context, known, int(into[p]), int(out[p]), int(into[after[p]])) for p in places.tolist()], np.float64
    )
    places, growth = places[growth > PADDED], growth[growth > PADDED]
    takers = rows[after[places]]
    if len(takers) < REPEAT_MIN or not matters(context, takers, SHARE):
        return
    duration = context.basis.durations(takers)
    top = places[int(np.argmax(duration * (1 - 1 / growth)))]
    facts = {
        "count": len(takers),
        "ops": most_frequent(context, takers, "op_type"),
        "total_ns": int(duration.sum()),
        "before": context.trace.strings[int(into[top])].strip('"'),
        "after": context.trace.strings[int(out[top])].strip('"'),
        "times": round(float(growth.max()), 2),
    }
    shorter = (duration / growth).astype(np.int64)
    yield said_of(context, NAME, facts, takers, (SetTo(takers, shorter),), "low", "model", at_most=True)


def _growth(context: Context, known: dict[tuple[int, int, int], float], into: int, out: int, taken: int) -> float:
    """Elements of a conversion's output by those of its input, where the next kernel takes that output; else 0."""
    key = (into, out, taken)
    if key not in known:
        text = context.trace.strings
        before, after = shapes(text[into])[0], shapes(text[out])[0]
        follows = taken >= 0 and shapes(text[taken])[0] == after
        real: int = prod(before) if follows and before else 0
        stored: int = prod(after)
        known[key] = stored / real if real else 0.0
    return known[key]
