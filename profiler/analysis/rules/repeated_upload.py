"""Rule 37: constant operands (weights, tables) are copied to the device again in every step."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from profiler.analysis.calls import column
from profiler.analysis.context import Context
from profiler.analysis.edits import Remove
from profiler.analysis.groups import distinct, largest
from profiler.analysis.judge import REPEAT_MIN, Name, judged
from profiler.analysis.kernel_work import item_bytes
from profiler.analysis.rules.copies import H2D, Copies, in_window
from profiler.analysis.shapes import shapes
from profiler.findings import Finding
from profiler.trace import Array

NAME = Name("repeated-upload", 37, "copy")
# Operators whose operands from this place on do not change from step to step in inference: weights behind the data, tables first.
CONSTANT = {"Conv": 1, "Depthwise": 1, "MatMul": 1, "BatchMatMul": 1, "Gemm": 1, "Gather": 0, "EmbeddingLookup": 0}
LARGER_THAN = 4096  # bytes; smaller operands are as likely parameters of the step
EVERY = 0.5  # of the steps at least
EVIDENCE_MOST = 3


def repeated_upload(context: Context) -> Iterator[Finding]:
    """Fires when copies to the device in at least every other step have exactly the size of a weight or table that kernels of the
    window read, and of no input of theirs that is data. Gain: without these copies. Silent where shapes are not known."""
    copies = in_window(context)
    copies = copies.only((copies.direction == H2D) & (copies.bytes > LARGER_THAN))
    if len(copies.rows) < REPEAT_MIN or "in_shapes" not in context.trace.task:
        return
    constant, data = _operands(context)
    sizes = np.array(sorted(constant.keys() - data), np.int64)
    copies = copies.only(np.isin(copies.bytes, sizes))
    copies = copies.only(_every_step(context, copies))
    if len(copies.rows) < REPEAT_MIN:
        return
    task = context.trace.task
    length = task["end"][copies.task] - task["start"][copies.task]
    facts = {
        "count": len(copies.rows),
        "per_step": round(len(copies.rows) / context.count, 1),
        "total_bytes": int(copies.bytes.sum()),
        "total_ns": int(length.sum()),
        "sizes": ", ".join(f"{size:,}" for size in np.unique(copies.bytes)[::-1][:EVIDENCE_MOST].tolist()),
        "operands": ", ".join(dict.fromkeys(constant[s] for s in np.unique(copies.bytes)[::-1][:EVIDENCE_MOST].tolist())),
    }
    yield judged(
        context,
        NAME,
        facts,
        (Remove(copies.task, copies.rows),),
        confidence="medium",
        evidence=context.tasks_shown(copies.task[largest(length, EVIDENCE_MOST)]),
        sites=context.sites(copies.rows),
    )


def _operands(context: Context) -> tuple[dict[int, str], set[int]]:
    """Bytes of constant operands of the window's kernels (with operator and shape), and bytes of their other inputs."""
    rows = context.basis.kernels()
    columns = (column(context.trace, "task", name)[rows] for name in ("op_type", "in_shapes", "in_dtypes"))
    constant: dict[int, str] = {}
    data: set[int] = set()
    text = context.trace.strings
    for op_id, shape_id, dtype_id in distinct(*columns)[0].tolist():
        op = text[op_id]
        first = next((place for name, place in CONSTANT.items() if op.startswith(name) and "Backprop" not in op), None)
        for place, (shape, dtype) in enumerate(zip(shapes(text[shape_id]), text[dtype_id].split(";"), strict=False)):
            size = int(np.prod(shape, dtype=np.int64)) * item_bytes(dtype) if shape else 0
            if first is not None and (place >= first if first else place == 0):
                constant.setdefault(size, f"{op} {'x'.join(map(str, shape or ()))}")
            else:
                data.add(size)
    return constant, data


def _every_step(context: Context, copies: Copies) -> Array:
    """Mask: copies of a size that comes at least every other step (REPEAT_MIN times without steps)."""
    if not len(copies.rows):
        return np.zeros(0, bool)
    step = context.steps.of(context.trace.api["start"][copies.rows])
    keep = np.zeros(len(copies.rows), bool)
    for size in np.unique(copies.bytes):
        mine = copies.bytes == size
        steps = len(np.unique(step[mine])) if context.steps.judged else int(mine.sum())
        keep[mine] = steps >= max(REPEAT_MIN, EVERY * context.steps.judged)
    return keep
