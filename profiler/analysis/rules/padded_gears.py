"""Rule 8, third part: executions whose input is filled in part only, because the next larger gear is far away."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from profiler.analysis.calls import column
from profiler.analysis.context import Context
from profiler.analysis.edits import SetTo
from profiler.analysis.groups import changes
from profiler.analysis.judge import REPEAT_MIN, Name
from profiler.analysis.kernel_work import item_bytes
from profiler.analysis.rules.buffers import Buffers
from profiler.analysis.rules.copies import H2D, Copies, in_window
from profiler.analysis.rules.executions import Executions, executions
from profiler.analysis.rules.kernels import said_of
from profiler.analysis.shapes import shapes
from profiler.findings import Finding
from profiler.trace import Array

NAME = Name("padded-gears", 8, "graph")
PADDED = 1.25  # samples a gear has by those that were copied (catalogue)
SHOWN = 4


class Filled(NamedTuple):
    """An execution (its number), samples its input has room for, samples that were copied, and whether addresses prove it."""

    at: int
    room: int
    real: int
    proved: bool


def padded_gears(context: Context) -> Iterator[Finding]:
    """The finding on executions whose input was copied with fewer samples than its first kernel reads, by over 25 %. Without
    addresses the copy is known by its size alone: a whole number of samples, and no other copy before the execution fills the
    input; always the same half or quarter of it may as well be elements of half or a quarter of the size (pixels as bytes).
    Gain: their kernels by the share of real samples, at most."""
    found = executions(context)
    if len(found.row) < REPEAT_MIN:
        return
    padded = [f for f in _filled(context, found) if f.room > PADDED * f.real]
    if len(padded) < REPEAT_MIN or _other_type(padded):
        return
    rows = np.concatenate([found.kernels[f.at] for f in padded])
    share = np.concatenate([np.full(len(found.kernels[f.at]), f.real / f.room) for f in padded])
    duration = context.basis.durations(rows)
    kinds = Counter((f.real, f.room) for f in padded).most_common(SHOWN)
    facts = {
        "count": len(padded),
        "of": len(found.row),
        "call": context.trace.strings[int(context.trace.api["name"][found.row[padded[0].at]])],
        "real": sum(f.real for f in padded),
        "room": sum(f.room for f in padded),
        "histogram": ", ".join(f"{real}/{room} ({n}x)" for (real, room), n in kinds),
        "total_ns": int(duration.sum()),
    }
    confidence = "medium" if all(f.proved for f in padded) else "low"
    shorter = (duration * share).astype(np.int64)
    yield said_of(context, NAME, facts, rows, (SetTo(rows, shorter),), confidence, "model", at_most=True)


def _other_type(padded: list[Filled]) -> bool:
    """True when every copy has the same share of its input, and that is what a narrower type of element would give."""
    return len({f.real / f.room for f in padded}) == 1 and padded[0].room in (2 * padded[0].real, 4 * padded[0].real)


def _filled(context: Context, found: Executions) -> Iterator[Filled]:
    """What is known of the executions whose input a copy fills since the execution before on the thread."""
    copies = in_window(context)
    copies = copies.only((copies.direction == H2D) & (copies.bytes > 0))
    if not len(copies.rows) or "in_shapes" not in context.trace.task:
        return
    api, buffers = context.trace.api, Buffers(context)
    order = np.lexsort((api["start"][found.row], api["thread"][found.row]))
    threads, begun = api["thread"][copies.rows], api["start"][copies.rows].tolist()  # copies come by thread and start
    heads = np.flatnonzero(changes(threads)).tolist()
    of_thread = dict(zip(threads[heads].tolist(), pairwise([*heads, len(begun)]), strict=True))
    names = [column(context.trace, "task", n) for n in ("in_shapes", "in_dtypes")]
    inputs: dict[tuple[int, ...], tuple[tuple[int, ...] | None, int]] = {}  # by the numbers of their texts
    last = (-1, 0)  # thread, start of the execution before
    for at in order.tolist():
        thread, start = int(api["thread"][found.row[at]]), int(api["start"][found.row[at]])
        since = last[1] if last[0] == thread else -1
        last = (thread, start)
        low, high = of_thread.get(thread, (0, 0))
        mine = copies.only(slice(bisect_right(begun, since, low, high), bisect_left(begun, start, low, high)))
        kernel = int(found.kernels[at][0])
        key = tuple(int(ids[kernel]) for ids in names)
        if key not in inputs:
            inputs[key] = _input(context, *key)
        one = _one(mine, buffers, at, kernel, *inputs[key])
        if one is not None:
            yield one


def _one(copies: Copies, buffers: Buffers, at: int, kernel: int, shape: tuple[int, ...] | None, sample: int) -> Filled | None:
    if shape is None or shape[0] < 2:
        return None
    whole = sample * shape[0]
    proved = buffers.known and buffers.tells(kernel)
    if proved:
        copies = copies.only(np.array([buffers.after(int(t), kernel) for t in copies.task.tolist()], bool))
    size: Array = copies.bytes
    if not len(size) or (size >= whole).any():
        return None
    fits = size[size % sample == 0]
    total = int(size.sum()) if proved else int(fits.max(initial=0))
    return Filled(at, shape[0], total // sample, proved) if total and total % sample == 0 and total < whole else None


def _input(context: Context, in_shapes: int, dtype: int) -> tuple[tuple[int, ...] | None, int]:
    """Shape of the first input of a kernel, and the bytes of one sample of it, by the texts of its shapes and types."""
    text = context.trace.strings
    shape = shapes(text[in_shapes])[0] if in_shapes >= 0 else None
    if not shape or dtype < 0:
        return None, 0
    sample = int(np.prod(shape[1:], dtype=np.int64)) * item_bytes(text[dtype].split(";")[0])
    return (shape, sample) if sample > 0 else (None, 0)
