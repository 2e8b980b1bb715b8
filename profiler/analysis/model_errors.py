"""How far the cost model is off for the kernels of a trace: its measured errors by the families these kernels come from."""

from __future__ import annotations

import numpy as np

from npu.cost import errors
from profiler.analysis.context import Context
from profiler.analysis.kernel_model import plain
from profiler.findings import ModelError

LEAST = 0.02  # share of the kernels' time below which a family is not named


def model_errors(context: Context) -> tuple[ModelError, ...]:
    """The families of the judged kernels by their share of kernel time, largest first; empty where there are no kernels."""
    rows = context.basis.kernels()
    task = context.trace.task
    if not len(rows):
        return ()
    found, kind = context.basis.kinds
    texts = [(k[0], plain(k[2].split(";")[0])) for k in found]
    if not found:  # without shapes and types the operator alone has to do
        names, kind = context.basis.types
        texts = [(name or "", "") for name in names]
    time = (task["end"] - task["start"])[rows]
    on_core = ~context.trace.tasks_of("aicpu")[rows]
    spent: dict[str, float] = {}
    for cores, chosen in ((True, on_core), (False, ~on_core)):
        sums = np.bincount(kind[rows][chosen], weights=time[chosen], minlength=len(texts))
        for at in np.flatnonzero(sums).tolist():
            family = errors.family(*texts[at], aicpu=not cores)
            spent[family] = spent.get(family, 0.0) + float(sums[at])
    whole, known = sum(spent.values()), errors.table()
    return tuple(
        ModelError(name, ns / whole, known[name].median, known[name].left_out)
        for name, ns in sorted(spent.items(), key=lambda item: (-item[1], item[0]))
        if ns / whole >= LEAST and name in known
    )
