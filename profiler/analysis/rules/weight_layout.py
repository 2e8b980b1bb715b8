"""Rule 13: a weight is converted to another layout before every use."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from profiler.analysis.calls import column
from profiler.analysis.context import Context
from profiler.analysis.groups import combined
from profiler.analysis.judge import REPEAT_MIN, Name
from profiler.analysis.rules.kernels import (
    CUBE,
    LAYOUT,
    computing,
    kernels,
    named,
    next_on_stream,
    of_type,
    removal,
    said_of,
    split_by,
)
from profiler.findings import Finding
from profiler.trace import Array

NAME = Name("weight-layout-each-call", 13, "graph")
SHOWN = 3


def weight_layout(context: Context) -> Iterator[Finding]:
    """Fires when the same shape is converted to the same format right before a product or convolution that takes the result as a
    later operand, three times or more and in every step, and no kernel of the window writes that shape: then it is a
    constant. Gain: the run without these conversions (they are done once, at load)."""
    task = context.trace.task
    if any(n not in task for n in ("op_type", "in_shapes", "out_shapes")):
        return
    rows = kernels(context)
    after = next_on_stream(context, rows)
    other = np.maximum(after, 0)
    layout = of_type(context, rows, named(*LAYOUT)) & (after >= 0)
    layout &= of_type(context, rows[other], lambda text: text.startswith(CUBE))
    candidates = np.flatnonzero(layout)
    if len(candidates) < REPEAT_MIN:
        return
    number = combined(*(column(context.trace, "task", n)[rows[candidates]] for n in ("in_shapes", "in_formats", "out_formats")))
    found = []
    for group in split_by(number):
        at = candidates[group]
        if len(at) >= max(REPEAT_MIN, context.count) and _is_weight(context, rows, at[0], other[at[0]]):
            found.append(at)
    if found:
        yield _finding(context, rows, found, other)


def _is_weight(context: Context, rows: Array, conversion: int, user: int) -> bool:
    """True when the product takes the converted tensor as its second or a later operand and no other kernel writes it."""
    text = context.trace.strings
    row, consumer = rows[conversion], rows[user]
    task = context.trace.task
    made = text[int(task["out_shapes"][row])].strip('"').split(";")[0]
    operands = text[int(task["in_shapes"][consumer])].strip('"').split(";")[1:]
    if made not in operands:
        return False
    source = text[int(task["in_shapes"][row])].strip('"').split(";")[0]
    reads = task.get("reads")
    if reads is not None and reads[row] >= 0 and "writes" in task:
        buffers = set(text[int(reads[row])].split(";"))
        written = {b for w in np.unique(task["writes"][rows]) if w >= 0 for b in text[int(w)].split(";")}
        return not buffers & written
    outputs = {shape for o in np.unique(task["out_shapes"][rows]) for shape in text[int(o)].strip('"').split(";")}
    return source not in outputs


def _finding(context: Context, rows: Array, found: list[Array], after: Array) -> Finding:
    at = np.sort(np.concatenate(found))
    chosen = rows[at]
    text, task = context.trace.strings, context.trace.task
    first = rows[max(found, key=len)[0]]
    duration = context.basis.durations(chosen)
    shapes = [text[int(task["in_shapes"][rows[g[0]]])].strip('"') for g in sorted(found, key=len, reverse=True)]
    formats = column(context.trace, "task", "out_formats")
    facts = {
        "count": len(chosen),
        "weights": len(found),
        "op": text[int(task["op_type"][first])],
        "user": text[int(task["op_type"][rows[after[max(found, key=len)[0]]]])],
        "shapes": ", ".join(f"[{s}]" for s in shapes[:SHOWN]),
        "format": text[int(formats[first])] or "FRACTAL_NZ",
        "total_ns": int(duration.sum()),
        "computing_share": int(duration.sum()) / computing(context),
    }
    return said_of(context, NAME, facts, chosen, (removal(context, chosen),), "medium")
