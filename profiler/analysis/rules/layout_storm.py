"""Rule 12: layout conversions take a good part of the computing time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from profiler.analysis.calls import column
from profiler.analysis.context import Context
from profiler.analysis.judge import NOTE, REPEAT_MIN, Name
from profiler.analysis.rules import in_sums
from profiler.analysis.rules.kernels import (
    LAYOUT,
    computing,
    critical_ns,
    kernels,
    matters,
    most_frequent,
    named,
    next_on_stream,
    of_type,
    removal,
    said_of,
)
from profiler.findings import Finding
from profiler.trace import Array

NAME = Name("layout-storm", 12, "graph")
SHARE = 0.05  # of the computing time
BACK_WITHIN = 10  # kernels until a layout returns
ORIGIN = ("NCHW", "NHWC", "ND", "NCDHW", "NDHWC")


def layout_storm(context: Context) -> Iterator[Finding]:
    """Fires when TransData, Transpose and format casts take 5 % of the computing time, or half a percent of the window on the
    critical path. Gain: the run without them, but for those at the beginning and the end of a model, which its inputs and
    outputs force. Silent when only those are there. With op_statistic alone: their time, at most."""
    if "op_type" not in context.trace.task:
        yield from in_sums.kernels(context, NAME._replace(id="layout-storm-sums"), *LAYOUT)
        return
    rows = kernels(context)
    layout = of_type(context, rows, named(*LAYOUT))
    inner = layout & ~_border(context, rows, layout)
    chosen = rows[inner]
    if len(chosen) < REPEAT_MIN or not matters(context, chosen, SHARE):
        return
    duration = context.basis.durations(chosen)
    kinds = column(context.trace, "task", "op_type")[chosen]
    names, counts = np.unique(kinds, return_counts=True)
    top = names[np.argmax([int(duration[kinds == n].sum()) for n in names])]
    facts = {
        "count": len(chosen),
        "per_step": round(len(chosen) / context.count, 1),
        "total_ns": int(duration.sum()),
        "computing_share": int(duration.sum()) / computing(context),
        "critical_ns": critical_ns(context, chosen),
        "top": context.trace.strings[int(top)],
        "top_count": int(counts[names == top][0]),
        "top_ns": int(duration[kinds == top].sum()),
        "pairs": _back_and_forth(context, rows, layout),
        "before": _neighbours(context, rows, inner) or "-",
    }
    found = said_of(context, NAME, facts, chosen, (removal(context, chosen),), "medium", at_most=True)
    # Behind other waiting the conversions gain nothing yet; once that is cured they will.
    yield replace(found, regardless=int(duration.sum()) >= NOTE * context.length)


def _border(context: Context, rows: Array, layout: Array) -> Array:
    """Mask: the layout kernels of a model that its inputs and outputs force: those with no other kernel before or none after them
    in their launch, the first one if it leads from the model's own layout, and the last one if it leads back to that."""
    border = np.zeros(len(rows), bool)
    of_model = column(context.trace, "task", "model")[rows] >= 0
    launch = context.launches.row[rows]
    if not (layout & of_model).any():
        return border
    other = of_model & ~layout
    size = len(context.trace.api) + 1
    first, last = np.full(size, len(rows)), np.full(size, -1)
    places = np.arange(len(rows))
    np.minimum.at(first, launch[other], places[other])
    np.maximum.at(last, launch[other], places[other])
    mine = layout & of_model
    border[mine] = (places[mine] < first[launch[mine]]) | (places[mine] > last[launch[mine]])
    formats = [np.isin(column(context.trace, "task", n)[rows], named_formats(context)) for n in ("in_formats", "out_formats")]
    for lead, pick, start in ((formats[0], np.minimum, len(rows)), (formats[1], np.maximum, -1)):
        edge = np.full(size, start)
        pick.at(edge, launch[mine], places[mine])
        border |= mine & lead & (places == edge[launch])
    return border


def named_formats(context: Context) -> list[int]:
    """Ids of the layouts that models state for their inputs and outputs."""
    return [i for i in map(context.trace.strings.find, ORIGIN) if i >= 0]


def _back_and_forth(context: Context, rows: Array, layout: Array) -> int:
    """Conversions A -> B that are followed by B -> A of the same shape within BACK_WITHIN kernels on the stream."""
    source, target = (column(context.trace, "task", n)[rows] for n in ("in_formats", "out_formats"))
    shapes = column(context.trace, "task", "out_shapes")[rows]
    inputs = column(context.trace, "task", "in_shapes")[rows]
    open_ = layout & (source >= 0) & (target >= 0) & (source != target)
    back = np.zeros(len(rows), bool)
    for step in range(1, BACK_WITHIN + 1):
        later = next_on_stream(context, rows, step)
        other = np.maximum(later, 0)
        back |= (
            open_
            & (later >= 0)
            & open_[other]
            & (source[other] == target)
            & (target[other] == source)
            & (inputs == shapes[other])
        )
    return int(back.sum())


def _neighbours(context: Context, rows: Array, inner: Array) -> str:
    """Operators that come right after the conversions."""
    after = next_on_stream(context, rows)[inner]
    return most_frequent(context, rows[after[after >= 0]], "op_type")
