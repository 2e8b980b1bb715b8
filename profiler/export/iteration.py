"""One iteration of a run, as --iteration-id and --model-id choose it: what ran in it, and the calls that launched that."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from npu import events
from profiler.export import columns
from profiler.export.step_trace import executions
from profiler.trace import Array, Columns, Trace

STEPS = 4294967295  # as a model id: steps the program marked instead of executions of a model


class NoIteration(Exception):
    """There is no such iteration: `what` there is instead."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


def windows(trace: Trace, model: int | None) -> list[tuple[int, int]]:
    """Begin and end (ns) of each iteration: executions of a model (None: the smallest id that ran), over all devices, or steps.

    NoIteration when there are none of them.
    """
    if model == STEPS:
        marks = trace.marker
        rows = np.flatnonzero(marks["kind"] == events.MARKERS.index("step")) if marks else np.zeros(0, np.int64)
        found = sorted((int(marks["start"][r]), int(marks["end"][r])) for r in rows)
        if not found:
            raise NoIteration("the program marked no steps")
        return found
    ran = executions(trace)
    if not ran:
        raise NoIteration("no model ran")
    known = sorted({e.model for e in ran})
    wanted = known[0] if model is None else model
    if wanted not in known:
        raise NoIteration(f"model {wanted} did not run; models {', '.join(map(str, known))} did")
    spans: dict[int, tuple[int, int]] = {}
    for e in ran:
        if e.model == wanted:
            begin, end = spans.get(e.number, (e.begin, e.end))
            spans[e.number] = min(begin, e.begin), max(end, e.end)
    return [spans[n] for n in sorted(spans)]


def within(trace: Trace, number: int, model: int | None = None) -> Trace:
    """The trace of the iteration of that number (from 1): tasks and communication that start in it, samples and allocations in
    it, marks that touch it, and calls that touch it or launched one of its tasks. NoIteration says how many there are."""
    all_of_them = windows(trace, model)
    if not 1 <= number <= len(all_of_them):
        raise NoIteration(f"there are {len(all_of_them)} iterations")
    begin, end = all_of_them[number - 1]

    def inside(table: Columns, column: str) -> Columns:
        return _where(table, (table[column] >= begin) & (table[column] <= end)) if table else table

    def touching(table: Columns) -> Array:
        made: Array = (table["end"] >= begin) & (table["start"] <= end)
        return made

    task, api, marker = inside(trace.task, "start"), trace.api, trace.marker
    if api:
        launch = columns.column(api, "correlation")
        launched = (launch >= 0) & np.isin(launch, columns.column(task, "correlation"))
        api = _where(api, touching(api) | launched)
    return replace(
        trace,
        task=task,
        api=api,
        comm=inside(trace.comm, "start"),
        memory=inside(trace.memory, "time"),
        counter=inside(trace.counter, "time"),
        marker=_where(marker, touching(marker)) if marker else marker,
    )


def _where(table: Columns, rows: Array) -> Columns:
    return table.take(np.flatnonzero(rows))
