"""What the rules on model executions share: the kernels inside each execution, and the shapes it ran with."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from profiler.analysis.calls import EXECUTE, column
from profiler.analysis.context import Context
from profiler.analysis.groups import changes, sort_by
from profiler.trace import Array

INSIDE_MIN = 3  # launches inside one execution that make it operator by operator


class Executions(NamedTuple):
    """Executions of the window. row: api row. kernels: task rows launched by it or inside it, in order of start. own: how many
    different calls launched them. shape: number of the input shapes of its kernels. dynamic: a kernel says its shape is only
    known at run time."""

    row: Array
    kernels: list[Array]
    own: Array
    shape: Array
    dynamic: Array

    @property
    def piecewise(self) -> Array:
        """Mask: launched operator by operator."""
        mask: Array = self.own >= INSIDE_MIN
        return mask


def executions(context: Context) -> Executions:
    """All model executions of the window with device work."""
    return context.once(_executions)


def _executions(context: Context) -> Executions:
    api, task = context.trace.api, context.trace.task
    nothing = np.zeros(0, np.int64)
    runs = context.calls_in_window(context.trace.api_named(*EXECUTE))
    rows = context.basis.kernels()
    call = context.launches.row[rows]
    if not (call >= 0).all():
        rows, call = rows[call >= 0], call[call >= 0]
    if not len(runs) or not len(rows):
        return Executions(nothing, [], nothing, nothing, nothing.astype(bool))
    scale = int(api["end"].max()) + 1
    keys = api["thread"][runs].astype(np.int64) * scale + api["start"][runs]
    at = np.searchsorted(keys, api["thread"][call].astype(np.int64) * scale + api["start"][call], side="right") - 1
    holder = runs[np.maximum(at, 0)]
    inside = (at >= 0) & (api["thread"][holder] == api["thread"][call]) & (api["start"][call] <= api["end"][holder])
    rows, call, at = rows[inside], call[inside], at[inside]
    states = context.trace.strings.matching(lambda text: text == "dynamic")
    shapes = column(context.trace, "task", "in_shapes")
    order = sort_by(at, np.take(task["start"], rows))
    rows, call, at = rows[order], call[order], at[order]
    heads = np.flatnonzero(changes(at))
    ends = np.append(heads, len(at))[1:]
    dynamic = np.isin(column(context.trace, "task", "op_state")[rows], states)
    number = np.cumsum(changes(at)) - 1
    by_call = sort_by(number, call)
    own = np.bincount(number[by_call[changes(number[by_call], call[by_call])]], minlength=len(heads))
    kernels = np.split(rows, heads[1:])
    ran = shapes[rows]
    kinds: dict[bytes, int] = {}
    shape = [kinds.setdefault(ran[a:b].tobytes(), len(kinds)) for a, b in zip(heads.tolist(), ends.tolist(), strict=True)]
    return Executions(
        runs[at[heads]], kernels, own, np.array(shape, np.int64), np.logical_or.reduceat(dynamic, heads)
    )


def input_shape(context: Context, kernels: Array) -> str:
    """Shape of the first input of an execution's first kernel, e.g. "8,3,224,224"."""
    text = context.trace.strings[int(column(context.trace, "task", "in_shapes")[kernels[0]])]
    return text.strip('"').split(";")[0] or "-"
